package encoding

import (
	"math/bits"

	"github.com/chessbrain/chessbrain/chess"
)

// Layout of the history planes: HistoryLen boards, newest first, of
// PlanesPerBoard planes: our P N B R Q K, their P N B R Q K, repetition.
const (
	HistoryLen      = 8
	PlanesPerBoard  = 13
	MenPlanes       = 12 // of these, which come first
	planeTheirs     = 6
	planeRepetition = MenPlanes
)

const allOnes = ^uint64(0)

// Encode writes the input of h's newest position in format 1. Every mask and
// scalar is written. History before the start of h is zeros; if the start
// board has an en-passant right, the board before it is shown too, with the
// pawn put back, because format 1 has no other sign of the right. Rule50 above
// 255 is written as 255. It does not allocate.
func Encode(h *chess.History, masks *[NumMasks]uint64, s *Scalars) {
	last := h.Len() - 1
	n := min(h.Len(), HistoryLen)
	for t := 0; t < n; t++ {
		dst := (*[PlanesPerBoard]uint64)(masks[t*PlanesPerBoard:])
		boardMasks(dst, h.At(last-t), t&1 == 1)
		dst[planeRepetition] = 0
		if h.Repetitions(last-t) > 0 {
			dst[planeRepetition] = allOnes
		}
	}
	if n < HistoryLen {
		clear(masks[n*PlanesPerBoard:])
		if ep := h.At(0).EnPassant(); ep != chess.NoSquare {
			synthesizeBeforeStart(masks, n, ep)
		}
	}
	encodeScalars(h.Board(), s)
}

// boardMasks writes the twelve piece planes of b: as its own mover sees it, or
// as the opponent does if flipped. The kinds are written out because constant
// kinds let the compiler drop the accessors' switch.
func boardMasks(dst *[PlanesPerBoard]uint64, b *chess.Board, flipped bool) {
	dst[0], dst[6] = b.Ours(chess.Pawn), b.Theirs(chess.Pawn)
	dst[1], dst[7] = b.Ours(chess.Knight), b.Theirs(chess.Knight)
	dst[2], dst[8] = b.Ours(chess.Bishop), b.Theirs(chess.Bishop)
	dst[3], dst[9] = b.Ours(chess.Rook), b.Theirs(chess.Rook)
	dst[4], dst[10] = b.Ours(chess.Queen), b.Theirs(chess.Queen)
	dst[5], dst[11] = b.Ours(chess.King), b.Theirs(chess.King)
	if !flipped {
		return
	}
	for i := range planeTheirs {
		ours, theirs := dst[i], dst[i+planeTheirs]
		dst[i], dst[i+planeTheirs] = bits.ReverseBytes64(theirs), bits.ReverseBytes64(ours)
	}
}

// synthesizeBeforeStart writes history step n: the start board, shown by step
// n-1, with the pawn that has just moved two squares put back. ep is the
// capture target from the view of the start board's mover; that is the current
// mover's view when n-1 is even.
func synthesizeBeforeStart(masks *[NumMasks]uint64, n int, ep chess.Square) {
	dst := masks[n*PlanesPerBoard:][:PlanesPerBoard]
	copy(dst[:planeRepetition], masks[(n-1)*PlanesPerBoard:])
	from, to := uint64(1)<<(ep+8), uint64(1)<<(ep-8)
	pawns := planeTheirs
	if n&1 == 0 {
		from, to = bits.ReverseBytes64(from), bits.ReverseBytes64(to)
		pawns = 0
	}
	dst[pawns] = dst[pawns]&^to | from
}

func encodeScalars(b *chess.Board, s *Scalars) {
	*s = Scalars{
		OurOOO:   castlingBit(b, true, false),
		OurOO:    castlingBit(b, true, true),
		TheirOOO: castlingBit(b, false, false),
		TheirOO:  castlingBit(b, false, true),
		Rule50:   uint8(min(b.Rule50(), 255)),
	}
	if b.SideToMove() == chess.Black {
		s.BlackToMove = 1
	}
}

func castlingBit(b *chess.Board, ours, kingside bool) uint8 {
	if _, ok := b.CastlingRook(ours, kingside); ok {
		return 1
	}
	return 0
}

// AppendPosition appends h's newest position, whose legal moves are l in
// generation order, to b and returns its index. For rows of a TrainBatch use
// [AppendTrainPosition], which also grows the targets.
func AppendPosition(b *Batch, h *chess.History, l *chess.MoveList) int {
	i := b.growAny(l.N)
	fillPosition(b, i, h, l)
	return i
}

// AppendTrainPosition is AppendPosition for training rows: the policy is
// zeros, the targets unknown and the weight 1, for the caller to fill.
func AppendTrainPosition(b *TrainBatch, h *chess.History, l *chess.MoveList) int {
	i := b.Grow(l.N)
	fillPosition(&b.Batch, i, h, l)
	return i
}

func fillPosition(b *Batch, i int, h *chess.History, l *chess.MoveList) {
	if b.Format > FormatClassical {
		fillFormat(b, i, h, l)
		return
	}
	Encode(h, &b.Masks[i], &b.Scalars[i])
	legal := b.LegalOf(i)
	for j, m := range l.Slice() {
		legal[j] = PolicyIndex(m)
	}
}
