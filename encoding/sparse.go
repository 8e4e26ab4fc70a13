package encoding

import "math/bits"

// SparseFeatures says which features of a position, and of its moves, a sparse net reads.
type SparseFeatures int

const (
	SparseAttacks   SparseFeatures = 0 // of a man, whether it is attacked, and defended
	SparseAttackers SparseFeatures = 2 // and by what; of a move, also what it threatens
)

// Sizes of a sparse net's input: a position as the numbers of the few features that it
// has. A man on a square is a feature, in one of some states: by what the other side
// attacks it, and by what its own side defends it.
const (
	sparseMen    = 12 // ours pawn to king, theirs pawn to king
	sparseRule50 = 11 // plies since a capture or pawn move, by tens

	// Numbers of the features behind those of men.
	sparseCastling = 0
	sparseRepeated = sparseCastling + 4
	sparseClock    = sparseRepeated + 1
	sparseOthers   = sparseClock + sparseRule50
)

// What attacks a square, the least man that does.
const (
	byNone = iota
	byPawn
	byMinor
	byOther
	attackLevels
)

const defendLevels = 3 // by nothing, by men other than pawns, by a pawn

// The states of a man for each attack level + attackLevels * defend level.
var (
	coarseStates = [attackLevels * defendLevels]uint16{0, 1, 1, 1, 2, 3, 3, 3, 2, 3, 3, 3}
	fineStates   = [attackLevels * defendLevels]uint16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
)

// menFeatures is the number of features of men, all others come behind.
func (f SparseFeatures) menFeatures() int {
	if f == SparseAttacks {
		return 4 * sparseMen * NumSquares
	}
	return attackLevels * defendLevels * sparseMen * NumSquares
}

// FirstMove is the number of the first feature that is a move's: all others come before.
func (f SparseFeatures) FirstMove() int { return f.menFeatures() + sparseOthers }

// NumFeatures is the number of features of a perspective.
func (f SparseFeatures) NumFeatures() int {
	if f == SparseAttacks {
		return f.FirstMove()
	}
	return f.FirstMove() + firstKinds
}

// Sparse is one position's features, as seen by the side to move and by its opponent.
// Each sees its own men walk up the board and its own king on the files e to h: else
// files are mirrored. Rows and Kinds say the same of its legal moves.
type Sparse struct {
	Features     SparseFeatures // what Set writes
	Folded       bool           // Rows are those of the table that Fold makes, list after list, and Kinds are none
	Ours, Theirs []uint16       // below NumFeatures; of SparseAttackers, the first kind of each move is one of ours
	Rows         []uint16       // of each legal move the policy index as the side to move sees the board
	Kinds        []uint16       // and its kinds, below NumMoveKinds: MoveKinds lists like Rows, one behind the other

	mirrored bool              // the files, as the side to move sees them
	attacks  [2]attacks        // by our men, by theirs
	men      [NumSquares]uint8 // 1 + man; 0 = empty
	sets     [sparseMen]uint64 // squares of the men of each kind
	diagonal uint64            // men of both sides that attack along diagonals
	straight uint64            // and along ranks and files
	squares  [2]uint64         // of our men, of theirs
	occupied uint64
}

// attacks are the squares that a side's men attack: all of them, pawns, knights and bishops.
type attacks struct{ all, byPawns, byMinors uint64 }

// level says what attacks a square.
func (a *attacks) level(sq uint) uint16 {
	return uint16((a.byPawns|a.all&^a.byMinors)>>(sq&63)&1 + (a.all&^a.byPawns)>>(sq&63)&1*byMinor)
}

// defence says, as a defend level, what defends a square.
func (a *attacks) defence(sq uint) uint16 { return uint16(a.all>>(sq&63)&1 + a.byPawns>>(sq&63)&1) }

// Set fills s with the features of a position's newest board and of its legal moves.
func (s *Sparse) Set(masks *[NumMasks]uint64, c *Scalars, legal []uint16) {
	s.men = [NumSquares]uint8{}
	s.sets = [sparseMen]uint64(masks[:])
	s.squares = [2]uint64{}
	for i, m := range s.sets {
		s.squares[i/planeTheirs] |= m
	}
	s.occupied = s.squares[0] | s.squares[1]
	s.diagonal = s.sets[2] | s.sets[4] | s.sets[planeTheirs+2] | s.sets[planeTheirs+4]
	s.straight = s.sets[3] | s.sets[4] | s.sets[planeTheirs+3] | s.sets[planeTheirs+4]
	s.attacks[0] = attackedBy(s.sets[:6], s.occupied, false)
	s.attacks[1] = attackedBy(s.sets[6:], s.occupied, true)
	s.mirrored = s.sets[5]&filesAToD != 0
	ours, theirs := uint16(0), uint16(56)
	if s.mirrored {
		ours ^= 7
	}
	if s.sets[11]&filesAToD != 0 {
		theirs ^= 7
	}
	states, others := &fineStates, uint16(s.Features.menFeatures())
	if s.Features == SparseAttacks {
		states = &coarseStates
	}
	a, b := s.Ours[:0], s.Theirs[:0]
	for man, m := range s.sets {
		side, other := 0, man+planeTheirs
		if man >= planeTheirs {
			side, other = 1, man-planeTheirs
		}
		attackers, defenders := &s.attacks[1-side], &s.attacks[side]
		for ; m != 0; m &= m - 1 {
			sq := uint16(bits.TrailingZeros64(m))
			state := states[attackers.level(uint(sq))+attackLevels*defenders.defence(uint(sq))]
			s.men[sq] = uint8(man + 1)
			a = append(a, (state*sparseMen+uint16(man))<<6|sq^ours)
			b = append(b, (state*sparseMen+uint16(other))<<6|sq^theirs)
		}
	}
	for i, may := range [4]uint8{c.OurOOO, c.OurOO, c.TheirOOO, c.TheirOO} {
		if may != 0 {
			a = append(a, others+sparseCastling+uint16(i))
			b = append(b, others+sparseCastling+uint16(i^2))
		}
	}
	if masks[planeRepetition] != 0 {
		a, b = append(a, others+sparseRepeated), append(b, others+sparseRepeated)
	}
	clock := others + sparseClock + min(uint16(c.Rule50)/10, sparseRule50-1)
	s.Ours, s.Theirs = append(a, clock), append(b, clock)
	s.moves(legal)
}

// Mirrored says whether the side to move sees the files mirrored. Set comes before.
func (s *Sparse) Mirrored() bool { return s.mirrored }

const (
	notA  = 0xfefefefefefefefe
	notAB = 0xfcfcfcfcfcfcfcfc
	notH  = 0x7f7f7f7f7f7f7f7f
	notGH = 0x3f3f3f3f3f3f3f3f
)

// attackedBy returns the squares that men (pawn to king) attack. Their pawns walk down the
// board if down.
func attackedBy(men []uint64, occupied uint64, down bool) (a attacks) {
	if pawns := men[0]; down {
		a.byPawns = pawns>>9&notH | pawns>>7&notA
	} else {
		a.byPawns = pawns<<7&notH | pawns<<9&notA
	}
	n := men[1]
	near, far := n>>1&notH|n<<1&notA, n>>2&notGH|n<<2&notAB
	a.byMinors = near<<16 | near>>16 | far<<8 | far>>8 | diagonals(men[2], ^occupied)
	king := men[5]
	row := king | king>>1&notH | king<<1&notA
	steps := (row | row<<8 | row>>8) &^ king
	a.all = a.byPawns | a.byMinors | steps | diagonals(men[4], ^occupied) | straights(men[3]|men[4], ^occupied)
	return a
}

// diagonals and straights return the squares that sliders attack, the first man on each
// line with them.
func diagonals(m, empty uint64) uint64 {
	return slideUp(m, empty&notA, 9)&notA | slideDown(m, empty&notH, 9)&notH |
		slideUp(m, empty&notH, 7)&notH | slideDown(m, empty&notA, 7)&notA
}

func straights(m, empty uint64) uint64 {
	return slideUp(m, empty, 8) | slideDown(m, empty, 8) |
		slideUp(m, empty&notA, 1)&notA | slideDown(m, empty&notH, 1)&notH
}

// slideUp and slideDown return the squares that sliders reach by steps of n bits over
// free squares, the last of which may be occupied (Kogge-Stone fills). free and the
// caller's mask of the result keep rays from running round the board.
func slideUp(m, free uint64, n uint) uint64 {
	m |= free & (m << n)
	free &= free << n
	m |= free & (m << (2 * n))
	free &= free << (2 * n)
	return (m | free&(m<<(4*n))) << n
}

func slideDown(m, free uint64, n uint) uint64 {
	m |= free & (m >> n)
	free &= free >> n
	m |= free & (m >> (2 * n))
	free &= free >> (2 * n)
	return (m | free&(m>>(4*n))) >> n
}
