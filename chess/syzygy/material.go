package syzygy

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
)

// maxMen is the number of men, kings included, of the largest tables that exist.
const maxMen = 7

// material counts the men of two sides without their kings, by PieceType.
type material [2][chess.King]uint8

// parseMaterial reads a name such as KQPvKR: a king a side, then the other men
// in the order QRBNP, as table files are named.
func parseMaterial(name string) (material, error) {
	var m material
	sides := strings.Split(name, "v")
	if len(sides) != 2 {
		return m, fmt.Errorf("ending %q: want two sides, such as KQvKR", name)
	}
	for side, men := range sides {
		if !strings.HasPrefix(men, "K") {
			return m, fmt.Errorf("ending %q: each side starts with its K", name)
		}
		last := chess.Queen
		for _, letter := range []byte(men[1:]) {
			pt := strings.IndexByte("PNBRQ", letter)
			if pt < 0 || chess.PieceType(pt) > last {
				return m, fmt.Errorf("ending %q: want men of QRBNP in this order, have %q", name, letter)
			}
			last = chess.PieceType(pt)
			m[side][pt]++
		}
	}
	if n := m.men(); n < 3 || n > maxMen {
		return m, fmt.Errorf("ending %q: %d men, want 3 to %d", name, n, maxMen)
	}
	return m, nil
}

// String returns the name of the ending, side 0 first.
func (m material) String() string {
	var sb strings.Builder
	for side := range m {
		if side == 1 {
			sb.WriteByte('v')
		}
		sb.WriteByte('K')
		for pt := int(chess.Queen); pt >= 0; pt-- {
			sb.WriteString(strings.Repeat("PNBRQ"[pt:pt+1], int(m[side][pt])))
		}
	}
	return sb.String()
}

// men returns the number of men, kings included.
func (m material) men() int {
	n := 2
	for pt := range m[0] {
		n += int(m[0][pt] + m[1][pt])
	}
	return n
}

// swapped returns the material with the sides exchanged.
func (m material) swapped() material { return material{m[1], m[0]} }

// hasPawns says whether either side has pawns.
func (m material) hasPawns() bool { return m[0][chess.Pawn]+m[1][chess.Pawn] > 0 }

// leadSide returns the side whose pawns lead the index of a table with pawns:
// the one with fewer of them, if it has any, side 0 where they are equal.
func (m material) leadSide() int {
	a, b := m[0][chess.Pawn], m[1][chess.Pawn]
	if b == 0 || a > 0 && a <= b {
		return 0
	}
	return 1
}

// boardMaterial returns the men of a board, the side to move first.
func boardMaterial(b *chess.Board) material {
	var m material
	for pt := chess.Pawn; pt < chess.King; pt++ {
		m[0][pt] = uint8(bits.OnesCount64(b.Ours(pt)))
		m[1][pt] = uint8(bits.OnesCount64(b.Theirs(pt)))
	}
	return m
}
