package encoding

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
)

// Sizes of a move's kinds, see [Sparse].
const (
	moveCaptures = 6 // nothing, pawn to queen

	// Of SparseAttacks.
	moveTargets = 3 // not attacked, attacked by a pawn, attacked by others only
	moveOrigins = 2 // not attacked, attacked
	numCoarse   = 6 * moveCaptures * moveTargets * moveOrigins

	// Of SparseAttackers, list after list. The first one is of features, too.
	moveChecks   = 2                                                     // whether the opponent's king is attacked from the target
	moveGuards   = 2                                                     // whether another pawn of ours defends the target
	moveThreats  = 5                                                     // of nothing, of a pawn, minor, rook, queen
	moveForks    = 2                                                     // whether more than one man is threatened, their king counted
	moveDangers  = 2                                                     // whether the target is attacked
	moveOffsets  = 15                                                    // ranks or files from a king, -7 to 7
	placesOfKind = attackLevels * attackLevels * moveChecks * moveGuards // where a man takes another
	firstKinds   = 6 * moveCaptures * placesOfKind
	outcomeKinds = firstKinds
	threatKinds  = outcomeKinds + 6*moveCaptures*numOutcomes
	targetKinds  = threatKinds + 6*moveThreats*moveForks*moveDangers
	originKinds  = targetKinds + 6*NumSquares
	assaultKinds = originKinds + 6*NumSquares
	shelterKinds = assaultKinds + 6*moveOffsets*moveOffsets
	numFine      = shelterKinds + 6*moveOffsets*moveOffsets
	fineLists    = 7
	foldedLists  = 4
)

// NumMoveKinds is the number of kinds of moves.
func (f SparseFeatures) NumMoveKinds() int {
	if f == SparseAttacks {
		return numCoarse
	}
	return numFine
}

// MoveKinds is the number of kinds that each move has.
func (f SparseFeatures) MoveKinds() int { return f.moveLists(false) }

func (f SparseFeatures) moveLists(folded bool) int {
	switch {
	case f == SparseAttacks:
		return 1
	case folded:
		return foldedLists
	}
	return fineLists
}

// moves sets Rows and Kinds, and adds the first kinds' features to Ours.
//
// The first kind is the man that moves, what it captures, and what attacks it where it
// goes and where it stands. Of SparseAttackers it is also whether it gives check there
// and has another pawn's protection. The others are what comes of the exchange; the best
// man that it then threatens, one that is worth more or is not defended; the squares where
// it goes and from where; and where it goes as seen from their king, and from ours.
func (s *Sparse) moves(legal []uint16) {
	n, lists := len(legal), 1+s.Features.moveLists(s.Folded)
	s.Rows = slices.Grow(s.Rows[:0], n*lists)[:n*lists]
	rows, kinds, behind := s.Rows[:n], s.Rows[n:], uint16(NumPolicy)
	if !s.Folded {
		s.Rows, s.Kinds, behind = rows, kinds, 0
	}
	theirs, mirror := s.attacks[1], uint16(0)
	if s.mirrored {
		mirror = 7
	}
	coarse := s.Features == SparseAttacks
	var checks, victims [6]uint64
	var assault, shelter uint16
	var firsts []uint16
	if !coarse {
		s.Ours = slices.Grow(s.Ours, n)[:len(s.Ours)+n]
		firsts = s.Ours[len(s.Ours)-n:]
		checks, victims = s.checks(), s.victims()
		assault, shelter = s.kingOffset(1, mirror), s.kingOffset(0, mirror)
	}
	images := &PolicyImages()[FlipFiles]
	pawns, occupied := s.sets[0], s.occupied
	for i, idx := range legal {
		m := policyMoves[idx]
		from, to := uint(m&63), uint(m>>6&63)
		rows[i] = idx
		if s.mirrored {
			rows[i] = images[idx]
		}
		man, captured := s.moved(from, to)
		target, origin := theirs.level(to), theirs.level(from)
		kind := man*moveCaptures + captured
		if coarse {
			kinds[i] = behind + (kind*moveTargets+min(target, byMinor))*moveOrigins + min(origin, byPawn)
			continue
		}
		arrives := man
		if man == 0 && to >= 56 {
			arrives = max(uint16(m>>12), promoKnight)
		}
		check := uint16(checks[arrives] >> to & 1)
		others := pawns &^ (1 << from)
		guard := uint16((others<<7&notH | others<<9&notA) >> to & 1)
		won := 0
		if captured > 0 {
			won = manValue[captured-1]
		}
		threat, fork := s.threat(chess.Attacks(chess.PieceType(arrives), chess.Square(to), occupied&^(1<<from)), victims[arrives])
		goes, comes := uint16(to)^mirror, uint16(from)^mirror
		place := man*moveOffsets*moveOffsets + goes>>3*moveOffsets + goes&7
		first := (((kind*attackLevels+target)*attackLevels+origin)*moveChecks+check)*moveGuards + guard
		outcome := s.outcome(uint(man), from, to, won)
		threatens := ((man*moveThreats+threat)*moveForks+fork)*moveDangers + min(target, 1)
		firsts[i] = uint16(s.Features.FirstMove()) + first
		k := kinds[i:]
		if s.Folded {
			rows[i] += man * NumPolicy
			k[0], k[n] = foldedFirsts+first*numOutcomes+outcome, foldedThreats+threatens
			k[2*n], k[3*n] = foldedOffsets+place+assault, foldedOffsets+shelterKinds-assaultKinds+place+shelter
			continue
		}
		k[0], k[n], k[2*n] = first, outcomeKinds+kind*numOutcomes+outcome, threatKinds+threatens
		k[3*n], k[4*n] = targetKinds+man*NumSquares+goes, originKinds+man*NumSquares+comes
		k[5*n], k[6*n] = assaultKinds+place+assault, shelterKinds+place+shelter
	}
}

// kingOffset is what makes a rank and file those as seen from a king: (7 - rank) *
// moveOffsets + 7 - file of it.
func (s *Sparse) kingOffset(side int, mirror uint16) uint16 {
	king := uint16(bits.TrailingZeros64(s.sets[side*planeTheirs+5]|1<<63)) ^ mirror
	return (7-king>>3)*moveOffsets + 7 - king&7
}

// KindLists goes through the lists of Kinds.
func (s *Sparse) KindLists() iter.Seq[[]uint16] { return slices.Chunk(s.Kinds, max(len(s.Rows), 1)) }

// capturedOf is 1 + the kind that is captured, by what [Sparse] says of men; a king is none.
var capturedOf = [16]uint16{planeTheirs + 1: 1, 2, 3, 4, 5}

// moved returns the kind of man that a move takes from one square to another, and 1 + the
// kind that it captures. Both are of some man also where the masks are of no position.
func (s *Sparse) moved(from, to uint) (man, captured uint16) {
	man = (uint16(s.men[from]) + 5) % 6
	captured = capturedOf[s.men[to]%16]
	if man == 0 && (from^to)&7 != 0 && s.men[to] == 0 {
		captured = 1 // en passant
	}
	return man, captured
}

// checks returns for each kind of man the squares from which it attacks their king.
func (s *Sparse) checks() (squares [6]uint64) {
	king := s.sets[planeTheirs+5]
	if king == 0 {
		return squares
	}
	at := chess.Square(bits.TrailingZeros64(king))
	for pt := chess.Knight; pt <= chess.Queen; pt++ {
		squares[pt] = chess.Attacks(pt, at, s.occupied)
	}
	squares[0] = king>>9&notH | king>>7&notA
	return squares
}

// victims are their men that a man of ours may threaten, by its kind: those that are worth
// more, and all that nothing defends.
func (s *Sparse) victims() (of [6]uint64) {
	theirs := s.sets[planeTheirs:]
	loose := (theirs[0] | theirs[1] | theirs[2] | theirs[3] | theirs[4]) &^ s.attacks[1].all
	of[4], of[5] = loose, loose
	of[3] = loose | theirs[4]
	of[2] = of[3] | theirs[3]
	of[1] = of[2]
	of[0] = of[1] | theirs[2] | theirs[1]
	return of
}

// threat says what a man that attacks such squares threatens: of the victims among them the
// best one, as for moveThreats, and whether there is another, or their king.
func (s *Sparse) threat(attacked, victims uint64) (best, fork uint16) {
	if victims &= attacked; victims == 0 {
		return 0, 0
	}
	theirs := s.sets[planeTheirs:]
	switch {
	case victims&theirs[4] != 0:
		best = 4
	case victims&theirs[3] != 0:
		best = 3
	case victims&theirs[0] != victims:
		best = 2
	default:
		best = 1
	}
	if all := victims | attacked&theirs[5]; all&(all-1) != 0 {
		fork = 1
	}
	return best, fork
}
