package encoding

import "math/bits"

// Sizes of a sparse net's input: a position as the numbers of the few features that it
// has. A man on a square is a feature, in one of four states: whether the other side
// attacks it, and whether its own side defends it.
const (
	sparseMen      = 12 // ours pawn to king, theirs pawn to king
	sparseStates   = 4  // attacked + 2*defended
	sparseRule50   = 11 // plies since a capture or pawn move, by tens
	sparseCastling = sparseStates * sparseMen * NumSquares
	sparseRepeated = sparseCastling + 4
	sparseClock    = sparseRepeated + 1

	NumSparse = sparseClock + sparseRule50 // features of a perspective
	MaxSparse = NumSquares + 6             // that a position can have
)

// Sizes of a move's kind, see [Sparse.Moves].
const (
	moveTargets  = 3 // not attacked, attacked by a pawn, attacked by others only
	moveOrigins  = 2 // not attacked, attacked
	moveCaptures = 6 // nothing, pawn to queen

	NumMoveKinds = 6 * moveCaptures * moveTargets * moveOrigins
)

// Sparse is one position's features, as seen by the side to move and by its opponent.
// Each sees its own men walk up the board and its own king on the files e to h: else
// files are mirrored.
type Sparse struct {
	Ours, Theirs []uint16 // below NumSparse, each once; at most MaxSparse

	mirrored     bool              // the files, as the side to move sees them
	attacked     [2]uint64         // squares where our men are attacked, and theirs
	byTheirPawns uint64            // the squares that their pawns attack
	men          [NumSquares]uint8 // 1 + man; 0 = empty
	occupied     uint64
}

// Set fills s with the features of a position's newest board. It does not allocate
// after the first call.
func (s *Sparse) Set(masks *[NumMasks]uint64, c *Scalars) {
	men := (*[sparseMen]uint64)(masks[:])
	for s.occupied != 0 {
		s.men[bits.TrailingZeros64(s.occupied)] = 0
		s.occupied &= s.occupied - 1
	}
	for _, m := range men {
		s.occupied |= m
	}
	s.attacked[1], _ = attackedBy(men[:6], s.occupied, false)
	s.attacked[0], s.byTheirPawns = attackedBy(men[6:], s.occupied, true)
	s.mirrored = men[5]&filesAToD != 0
	ours, theirs := uint16(0), uint16(56)
	if s.mirrored {
		ours ^= 7
	}
	if men[11]&filesAToD != 0 {
		theirs ^= 7
	}
	if cap(s.Ours) < MaxSparse {
		s.Ours, s.Theirs = make([]uint16, 0, MaxSparse), make([]uint16, 0, MaxSparse)
	}
	a, b := s.Ours[:0], s.Theirs[:0]
	for man, m := range men {
		side, other := 0, man+planeTheirs
		if man >= planeTheirs {
			side, other = 1, man-planeTheirs
		}
		attacked, defended := s.attacked[side], s.attacked[1-side]
		for ; m != 0; m &= m - 1 {
			sq := uint16(bits.TrailingZeros64(m))
			state := uint16(attacked>>sq&1 + defended>>sq&1<<1)
			s.men[sq] = uint8(man + 1)
			a = append(a, (state*sparseMen+uint16(man))<<6|sq^ours)
			b = append(b, (state*sparseMen+uint16(other))<<6|sq^theirs)
		}
	}
	for i, may := range [4]uint8{c.OurOOO, c.OurOO, c.TheirOOO, c.TheirOO} {
		if may != 0 {
			a = append(a, sparseCastling+uint16(i))
			b = append(b, sparseCastling+uint16(i^2))
		}
	}
	if masks[planeRepetition] != 0 {
		a, b = append(a, sparseRepeated), append(b, sparseRepeated)
	}
	clock := sparseClock + min(uint16(c.Rule50)/10, sparseRule50-1)
	s.Ours, s.Theirs = append(a, clock), append(b, clock)
}

// Mirrored says whether the side to move sees the files mirrored. Set comes before.
func (s *Sparse) Mirrored() bool { return s.mirrored }

// Moves writes for each of a position's legal moves its policy index as the side to move
// sees the board, and its kind, below NumMoveKinds: the man that moves, what it captures,
// whether its target is attacked, by a pawn or by others only, and whether it is attacked
// where it stands. rows and kinds lie beside legal. Set comes before.
func (s *Sparse) Moves(legal, rows, kinds []uint16) {
	rows, kinds = rows[:len(legal)], kinds[:len(legal)]
	mirrored := &PolicyImages()[FlipFiles]
	for i, idx := range legal {
		m := policyMoves[idx]
		from, to := m&63, m>>6&63
		man := uint16(s.men[from]) - 1
		captured := uint16(0)
		switch at := uint16(s.men[to]); {
		case at > planeTheirs:
			captured = at - planeTheirs
		case at == 0 && man == 0 && (from^to)&7 != 0:
			captured = 1 // en passant
		}
		target := uint16(0)
		switch {
		case s.byTheirPawns>>to&1 != 0:
			target = 1
		case s.attacked[0]>>to&1 != 0:
			target = 2
		}
		kind := ((man*moveCaptures+captured%moveCaptures)*moveTargets+target)*moveOrigins + uint16(s.attacked[0]>>from&1)
		kinds[i] = kind % NumMoveKinds // also where the masks are of no position
		if s.mirrored {
			idx = mirrored[idx]
		}
		rows[i] = idx
	}
}

// attackedBy returns the squares that men (pawn to king) attack, and those that the
// pawns do, which walk down the board if down.
func attackedBy(men []uint64, occupied uint64, down bool) (all, byPawns uint64) {
	const (
		notA  = 0xfefefefefefefefe
		notAB = 0xfcfcfcfcfcfcfcfc
		notH  = 0x7f7f7f7f7f7f7f7f
		notGH = 0x3f3f3f3f3f3f3f3f
	)
	if pawns := men[0]; down {
		byPawns = pawns>>9&notH | pawns>>7&notA
	} else {
		byPawns = pawns<<7&notH | pawns<<9&notA
	}
	all = byPawns
	n := men[1]
	near, far := n>>1&notH|n<<1&notA, n>>2&notGH|n<<2&notAB
	all |= near<<16 | near>>16 | far<<8 | far>>8
	king := men[5]
	row := king | king>>1&notH | king<<1&notA
	all |= (row | row<<8 | row>>8) &^ king
	straight, diagonal := men[3]|men[4], men[2]|men[4]
	empty := ^occupied
	all |= slideUp(straight, empty, 8) | slideDown(straight, empty, 8)
	all |= slideUp(straight, empty&notA, 1)&notA | slideDown(straight, empty&notH, 1)&notH
	all |= slideUp(diagonal, empty&notA, 9)&notA | slideDown(diagonal, empty&notH, 9)&notH
	all |= slideUp(diagonal, empty&notH, 7)&notH | slideDown(diagonal, empty&notA, 7)&notA
	return all, byPawns
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
