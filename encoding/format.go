package encoding

import (
	"fmt"

	"github.com/chessbrain/chessbrain/chess"
)

// InputFormat numbers Leela's input formats.
type InputFormat uint8

// The formats that EncodeFormat writes.
const (
	FormatClassical      InputFormat = 1 // castling as constant planes
	FormatCastlingPlanes InputFormat = 2 // castling as rook squares
	FormatCanonical      InputFormat = 3 // as 2; board turned by CanonicalTransform, shorter history
)

// Aux holds the planes 104 to 109 of any format as masks.
type Aux struct {
	Castling    [4]uint64 // planes 104-107; formats 2 and 3 use the first two: rooks that may O-O-O, O-O
	SideOrEP    uint64    // plane 108: all ones if black is to move; format 3: en-passant file, on rank 8
	Rule50      uint8     // plane 109, plies
	BlackToMove bool      // also where plane 108 does not say it
}

// EncodeFormat writes the input of h's newest position in format f and returns
// the transform that was applied to it (0 but in format 3); the policy's moves
// are to be transformed likewise. It panics on a format that it does not know.
func EncodeFormat(f InputFormat, h *chess.History, masks *[NumMasks]uint64, aux *Aux) Transform {
	var s Scalars
	Encode(h, masks, &s)
	b := h.Board()
	*aux = Aux{Rule50: s.Rule50, BlackToMove: s.BlackToMove == 1}
	if aux.BlackToMove {
		aux.SideOrEP = allOnes
	}
	switch f {
	case FormatClassical:
		for i, v := range [4]uint8{s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO} {
			aux.Castling[i] = -uint64(v)
		}
		return 0
	case FormatCastlingPlanes:
		aux.Castling = castlingRooks(b)
		return 0
	case FormatCanonical:
		aux.Castling = castlingRooks(b)
		aux.SideOrEP = 0
		if ep := b.EnPassant(); ep != chess.NoSquare {
			aux.SideOrEP = 1 << (56 + ep&7)
		}
		clear(masks[canonicalHistory(h)*PlanesPerBoard:])
		t := CanonicalTransform(b)
		for i, m := range masks {
			masks[i] = t.Mask(m)
		}
		aux.SideOrEP = t.Mask(aux.SideOrEP)
		return t
	}
	panic(fmt.Sprintf("encoding: input format %d", f))
}

// castlingRooks returns the rooks, ours and theirs, that may still castle:
// queenside in the first mask, kingside in the second.
func castlingRooks(b *chess.Board) (m [4]uint64) {
	for i, kingside := range [2]bool{false, true} {
		for _, ours := range [2]bool{true, false} {
			if sq, ok := b.CastlingRook(ours, kingside); ok {
				m[i] |= 1 << sq
			}
		}
	}
	return m
}

// canonicalHistory returns how many boards of h format 3 shows: it stops at a
// change of castling rights, at an older position with an en-passant right,
// and after a position with rule50 = 0, none of which can be repeated.
func canonicalHistory(h *chess.History) int {
	last := h.Len() - 1
	rights := absoluteRights(h.At(last))
	n := 0
	for n < min(h.Len(), HistoryLen) {
		b := h.At(last - n)
		if absoluteRights(b) != rights || n > 0 && b.EnPassant() != chess.NoSquare {
			break
		}
		n++
		if b.Rule50() == 0 {
			break
		}
	}
	return n
}

// absoluteRights returns the rooks of all castling rights as a mask from
// white's view.
func absoluteRights(b *chess.Board) uint64 {
	m := castlingRooks(b)
	if b.SideToMove() == chess.Black {
		return MirrorRanks.Mask(m[0] | m[1])
	}
	return m[0] | m[1]
}
