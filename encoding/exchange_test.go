package encoding

import (
	"math/bits"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// Exchanges by hand.
func TestOutcomes(t *testing.T) {
	const lost4, lost2, lost1, even, won1, won2, won4 = 0, 1, 2, 3, 4, 5, 6
	for _, c := range []struct {
		fen, move string
		want      uint16
	}{
		{"1k1r4/1pp4p/p7/4p3/8/P5P1/1PP4P/2K1R3 w - - 0 1", "e1e5", won1},
		{"1k1r3q/1ppn3p/p4b2/4p3/8/P2N2P1/1PP1R1BP/2K1Q3 w - - 0 1", "d3e5", lost2},
		{"4k3/2p5/3p4/8/8/8/3R4/3QK3 w - - 0 1", "d2d6", lost2},   // 1 - 5 + 1, the queen stays away
		{"4k3/8/3p4/8/8/8/3R4/3QK3 w - - 0 1", "d2d6", won1},      // nobody takes back
		{"4k3/8/3p4/8/8/8/3R4/3QK3 w - - 0 1", "d2d4", even},      //
		{"4k3/8/4p3/8/8/8/3R4/3QK3 w - - 0 1", "d2d5", lost4},     // a rook for a pawn that the queen takes back
		{"3qk3/8/4p3/3r4/2B5/8/8/4K3 w - - 0 1", "c4d5", won2},    // a rook for a bishop
		{"8/8/4k3/3r4/2B1K3/8/8/8 w - - 0 1", "c4d5", won4},       // the king may not take back: our king defends
		{"4k3/3r4/8/8/8/8/3P4/4K3 w - - 0 1", "d2d4", lost1},      // a pawn on a square of a rook
		{"4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", won1},       // en passant
		{"3r2k1/8/8/8/8/8/3R4/3R2K1 w - - 0 1", "d2d8", won4},     // the rook behind takes back
		{"3r2k1/3q4/8/8/8/8/3R4/3R2K1 w - - 0 1", "d2d7", won4},   // 9 - 5 + 5
		{"k7/8/8/8/8/8/6p1/5RK1 w - - 0 1", "g1g2", won1},         //
		{"k5r1/8/8/8/8/8/6p1/5RK1 w - - 0 1", "f1f2", even},       //
		{"4k3/8/2n1n3/8/1P1N4/8/8/4K3 w - - 0 1", "d4e6", won2},   // the king sees e6 not
		{"4k3/5p2/2n1n3/8/1P1N4/8/8/4K3 w - - 0 1", "d4e6", even}, // a knight for a knight
		{"q6k/8/8/3n4/8/1B6/8/3R2K1 w - - 0 1", "b3d5", won2},     // 3 - 3 + 9: the queen would not
		{"q6k/1b6/8/3n4/8/1B6/8/3R2K1 w - - 0 1", "b3d5", even},   // the queen would take the rook
		{"q6k/1b6/8/3n4/8/1B6/8/6K1 w - - 0 1", "b3d5", even},     //
		{"q6k/1b6/8/3n4/8/8/8/3R2K1 w - - 0 1", "d1d5", lost2},    //
		{"q6k/8/8/3n4/8/8/3R4/3R2K1 w - - 0 1", "d2d5", won2},     //
		{"4k3/8/8/8/8/2n5/1P6/R3K3 w Q - 0 1", "e1c1", even},      // castling goes to the rook
		{"1n2k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7b8q", won2},       // the man alone counts
		{"1n1rk3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7b8q", won2},      // and the pawn is what the rook takes
	} {
		h := history(t, c.fen)
		m, err := h.Board().ParseUCI(c.move)
		if err != nil {
			m = chess.Move(uint16(c.move[0]-'a') + 8*uint16(c.move[1]-'1') + uint16(c.move[2]-'a')<<6 + 8*uint16(c.move[3]-'1')<<6)
		}
		var masks [NumMasks]uint64
		var scalars Scalars
		Encode(h, &masks, &scalars)
		s := Sparse{Features: SparseAttackers}
		s.Set(&masks, &scalars, []uint16{PolicyIndex(m)})
		if got := (s.Kinds[1] - outcomeKinds) % numOutcomes; got != c.want {
			t.Errorf("%s %s: outcome %d, want %d", c.fen, c.move, got, c.want)
		}
	}
}

// Exchanges in games are those of a search over takings on the one square.
func TestExchange(t *testing.T) {
	s := Sparse{Features: SparseAttackers}
	deep := 0
	walk(t, 40, func(h *chess.History, l *chess.MoveList) {
		var masks [NumMasks]uint64
		var c Scalars
		Encode(h, &masks, &c)
		s.Set(&masks, &c, nil)
		for _, move := range l.Slice() {
			m := policyMoves[PolicyIndex(move)]
			from, to := uint(m&63), uint(m>>6&63)
			man, captured := s.moved(from, to)
			won := 0
			if captured > 0 {
				won = manValue[captured-1]
			}
			men := s.sets
			men[man] &^= 1 << from
			want := won - takeBack(men, 1, to, manValue[man], &deep)
			if got := s.exchange(uint(man), from, to, won); got != min(max(want, -4), 4) {
				t.Fatalf("%s %v: %d, want %d", h.Board().FEN(), move, got, want)
			}
			if s.attacks[1].all>>to&1 == 0 { // then what stands behind our man is not seen
				want = won
			}
			if got := s.outcome(uint(man), from, to, won); got != exchangeOutcome(want) {
				t.Fatalf("%s %v: outcome %d of %d", h.Board().FEN(), move, got, want)
			}
		}
	})
	if deep < 1000 {
		t.Errorf("only %d takings", deep)
	}
}

// takeBack is what a side wins on a square, where a man of that value stands: 0 where it
// leaves it.
func takeBack(men [sparseMen]uint64, side int, to uint, stands int, count *int) int {
	occupied := uint64(0)
	for _, m := range men {
		occupied |= m
	}
	attackers := func(side, kind int) (from uint64) {
		for m := men[6*side+kind] &^ (1 << to); m != 0; m &= m - 1 {
			one := [6]uint64{}
			one[kind] = m & -m
			if attackedBy(one[:], occupied, side == 1).all>>to&1 != 0 {
				from |= m & -m
			}
		}
		return from
	}
	for kind := range 6 {
		from := attackers(side, kind)
		if from == 0 {
			continue
		}
		*count++
		men[6*side+kind] &^= 1 << bits.TrailingZeros64(from)
		if kind == 5 {
			for k := range 6 {
				if attackers(side^1, k) != 0 {
					return 0
				}
			}
		}
		return max(0, stands-takeBack(men, side^1, to, manValue[kind], count))
	}
	return 0
}
