package encoding

import (
	"math/bits"

	"github.com/chessbrain/chessbrain/chess"
)

// Transform is one of the board's eight symmetries: any of three steps, taken
// in the order flip, mirror, transpose. The bits are those of Leela's
// invariance_info.
type Transform uint8

// The steps of a transform.
const (
	FlipFiles   Transform = 1 << iota // file a <-> h
	MirrorRanks                       // rank 1 <-> 8
	Transpose                         // about the diagonal a8-h1: file f, rank r -> 7-r, 7-f
	NumTransforms
)

// Mask transforms a bit mask.
func (t Transform) Mask(m uint64) uint64 {
	if t&FlipFiles != 0 {
		m = bits.ReverseBytes64(bits.Reverse64(m))
	}
	if t&MirrorRanks != 0 {
		m = bits.ReverseBytes64(m)
	}
	if t&Transpose != 0 {
		m = transposeMask(m)
	}
	return m
}

// transposeMask mirrors about the diagonal a8-h1 by swapping ever larger
// blocks (delta swaps).
func transposeMask(m uint64) uint64 {
	t := m ^ m<<36
	m ^= 0xf0f0f0f00f0f0f0f & (t ^ m>>36)
	t = 0xcccc0000cccc0000 & (m ^ m<<18)
	m ^= t ^ t>>18
	t = 0xaa00aa00aa00aa00 & (m ^ m<<9)
	return m ^ (t ^ t>>9)
}

// Square transforms a square, 0..63.
func (t Transform) Square(sq chess.Square) chess.Square {
	if t&FlipFiles != 0 {
		sq ^= 7
	}
	if t&MirrorRanks != 0 {
		sq ^= 56
	}
	if t&Transpose != 0 {
		sq = (7-sq&7)<<3 | (7 - sq>>3)
	}
	return sq
}

// Move transforms a move's squares and keeps its promotion. A promotion is
// meaningful only under transforms that keep the ranks.
func (t Transform) Move(m chess.Move) chess.Move {
	from, to := chess.Square(m&63), chess.Square(m>>6&63)
	return makeMove(int(t.Square(from)), int(t.Square(to)), int(m>>12))
}

// Inverse returns the transform that undoes t.
func (t Transform) Inverse() Transform {
	if t&Transpose == 0 {
		return t
	}
	// Transposing turns a flip of files into a mirror of ranks and back.
	return Transpose | t&FlipFiles<<1 | t&MirrorRanks>>1
}

// Masks of the lower right quarter of the board (e1-h4).
const (
	filesAToD     = 0x0f0f0f0f0f0f0f0f
	ranks5To8     = 0xffffffff00000000
	aboveDiagonal = 0xe0c08000 // above the diagonal h1-e4
	onDiagonal    = 0x10204080
)

// CanonicalTransform returns the symmetry under which formats 3 and up see b:
// our king comes to the files e-h; without pawns also to the ranks 1-4 and
// under the diagonal h1-e4, and if it stands on the diagonal the smaller of
// the two boards is chosen. Castling rights forbid all of it.
func CanonicalTransform(b *chess.Board) Transform {
	if castlingRooks(b) != [4]uint64{} {
		return 0
	}
	var t Transform
	king := b.Ours(chess.King)
	if king&filesAToD != 0 {
		t = FlipFiles
	}
	if b.Ours(chess.Pawn)|b.Theirs(chess.Pawn) != 0 {
		return t
	}
	if king&ranks5To8 != 0 {
		t |= MirrorRanks
	}
	king = t.Mask(king)
	if king&aboveDiagonal != 0 || king&onDiagonal != 0 && smallerTransposed(b, t) {
		t |= Transpose
	}
	return t
}

// smallerTransposed compares the board after t with its transpose: all men,
// ours, kings, queens, rooks, knights, bishops, until they differ.
func smallerTransposed(b *chess.Board, t Transform) bool {
	both := func(pt chess.PieceType) uint64 { return b.Ours(pt) | b.Theirs(pt) }
	for _, m := range [...]uint64{
		b.Occupied(), b.OurMen(), both(chess.King), both(chess.Queen),
		both(chess.Rook), both(chess.Knight), both(chess.Bishop),
	} {
		m = t.Mask(m)
		if tr := transposeMask(m); tr != m {
			return tr < m
		}
	}
	return false
}
