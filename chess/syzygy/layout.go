package syzygy

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
)

// placement is a position as a table sees it: the squares of each kind of man,
// [side][PieceType], side 0 being the one that the table names first and walking
// up the board.
type placement [2][chess.King + 1]uint64

// boardPlacement returns the men of a board, seen by the side to move, which
// becomes side 0 or, with flip, side 1.
func boardPlacement(b *chess.Board, flip bool) placement {
	var p placement
	for pt := chess.Pawn; pt <= chess.King; pt++ {
		ours, theirs := b.Ours(pt), b.Theirs(pt)
		if flip {
			ours, theirs = bits.ReverseBytes64(theirs), bits.ReverseBytes64(ours)
		}
		p[0][pt], p[1][pt] = ours, theirs
	}
	return p
}

// leadFile returns the file, a = 0 to d = 3 after mirroring, of the leading pawn
// of a side.
func (p *placement) leadFile(side int) int {
	file := int(leadPawn(p[side][chess.Pawn]) & 7)
	return min(file, 7-file)
}

// leadPawn returns the pawn with the highest pawnOrder.
func leadPawn(pawns uint64) uint8 {
	best := uint8(bits.TrailingZeros64(pawns))
	for rest := pawns & (pawns - 1); rest != 0; rest &= rest - 1 {
		if sq := uint8(bits.TrailingZeros64(rest)); pawnOrder[sq] > pawnOrder[best] {
			best = sq
		}
	}
	return best
}

// man is one man of a layout.
type man struct {
	side  uint8
	piece chess.PieceType
}

// group is a run of men that are numbered together: the leading group (two kings,
// three different men or the leading pawns), then men of one kind each.
type group struct {
	men    int
	factor uint64 // what the group's number is multiplied with in the index
}

// layout is the order in which a part of a table (one side to move, one file of
// the leading pawn) numbers its men.
type layout struct {
	order  []man // [men]
	groups []group
	pawns  bool   // the leading group is pawns
	both   bool   // both sides have pawns, the second group is pawns
	size   uint64 // number of indices
}

// newLayout lays out the men of m in the order given. ranks are the places of
// the leading group and, where both sides have pawns, of the other pawns among
// the factors of the index; file is that of the leading pawn. It refuses orders
// that no table has.
func newLayout(m material, order []man, ranks [2]int, file int) (layout, error) {
	l := layout{order: order, pawns: m.hasPawns()}
	l.both = m[0][chess.Pawn] > 0 && m[1][chess.Pawn] > 0
	if err := l.split(m); err != nil {
		return l, err
	}
	if !l.both {
		ranks[1] = -1
	}
	return l, l.setFactors(ranks, file)
}

// split checks that order holds the men of m and forms the groups.
func (l *layout) split(m material) error {
	var have [2][chess.King + 1]uint8
	for _, x := range l.order {
		have[x.side][x.piece]++
	}
	for side := range m {
		if [chess.King]uint8(have[side][:chess.King]) != m[side] || have[side][chess.King] != 1 {
			return fmt.Errorf("its men are not those of %v", m)
		}
	}
	lead := 2 // kings
	switch {
	case l.pawns:
		lead = int(m[m.leadSide()][chess.Pawn])
	case slices.Contains(m[0][:], 1) || slices.Contains(m[1][:], 1): // a man that is alone of its kind
		lead = 3
	}
	l.groups = []group{{men: lead}}
	for i := lead; i < len(l.order); i++ {
		if i > lead && l.order[i] == l.order[i-1] {
			l.groups[len(l.groups)-1].men++
			continue
		}
		l.groups = append(l.groups, group{men: 1})
	}
	return l.checkGroups(m, lead)
}

// checkGroups refuses a leading group of the wrong men and men of one kind that
// stand apart; later steps rely on it.
func (l *layout) checkGroups(m material, lead int) error {
	leading := man{uint8(m.leadSide()), chess.Pawn}
	seen := map[man]bool{}
	for i := 0; i < lead; i++ {
		x := l.order[i]
		switch {
		case l.pawns && x != leading,
			!l.pawns && lead == 2 && x.piece != chess.King,
			!l.pawns && seen[x]:
			return fmt.Errorf("man %d of its leading group does not belong there", i)
		}
		seen[x] = true
	}
	for i, at := 1, lead; i < len(l.groups); i++ {
		x := l.order[at]
		if seen[x] || l.both && (i == 1) != (x.piece == chess.Pawn) {
			return fmt.Errorf("its group %d does not belong there", i)
		}
		seen[x] = true
		at += l.groups[i].men
	}
	return nil
}

// setFactors multiplies the sizes of the groups in the order of ranks.
func (l *layout) setFactors(ranks [2]int, file int) error {
	next, free := 1, 64-l.groups[0].men
	if l.both {
		next, free = 2, free-l.groups[1].men
	}
	product, set := uint64(1), 0
	for place := 0; set < len(l.groups); place++ {
		var g *group
		var size uint64
		switch {
		case place == ranks[0]:
			g = &l.groups[0]
			switch {
			case l.pawns:
				size = leadSize[g.men][file]
			case g.men == 3:
				size = numTriples
			default:
				size = numKings
			}
		case place == ranks[1]:
			g = &l.groups[1]
			size = binomial[g.men][48-l.groups[0].men]
		case next < len(l.groups):
			g = &l.groups[next]
			size = binomial[g.men][free]
			free -= g.men
			next++
		default:
			return fmt.Errorf("its order of factors %v fits no %d groups", ranks, len(l.groups))
		}
		g.factor = product
		product *= size
		set++
	}
	l.size = product
	return nil
}

// index returns the number of a position, below l.size. The leading pawn of p
// must stand on the layout's file (leadFile).
func (l *layout) index(p *placement) uint64 {
	var squares [maxMen]uint8
	men := *p
	for i, x := range l.order {
		set := &men[x.side][x.piece]
		squares[i] = uint8(bits.TrailingZeros64(*set)) & 63
		*set &= *set - 1
	}
	sq := squares[:len(l.order)]
	var n uint64
	lead := l.groups[0].men
	if l.pawns {
		n = leadingPawns(sq, lead)
	} else {
		n = leadingPieces(sq, lead)
	}
	n *= l.groups[0].factor
	at := lead
	for i, g := range l.groups[1:] {
		low := uint8(0) // pawns have no first rank
		if l.both && i == 0 {
			low = 8
		}
		n += groupNumber(sq[:at], sq[at:at+g.men], low) * g.factor
		at += g.men
	}
	return n
}
