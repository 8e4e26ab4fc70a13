package encoding

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
)

// InputFormat numbers Leela's input formats.
type InputFormat uint8

// The formats.
const (
	FormatClassical      InputFormat = 1   // castling as constant planes
	FormatCastlingPlanes InputFormat = 2   // castling as rook squares
	FormatCanonical      InputFormat = 3   // as 2; board turned by CanonicalTransform, shorter history
	FormatHectoplies     InputFormat = 4   // as 3; plane 109 is rule50/100
	FormatCanonicalV2    InputFormat = 5   // as 4; of older boards only repetitions are shown, without gaps
	FormatArmageddon     InputFormat = 132 // as 4; plane 110 says that black is to move
	FormatArmageddonV2   InputFormat = 133 // as 5; the same
)

// InputFormats lists the formats.
func InputFormats() []InputFormat {
	return []InputFormat{FormatClassical, FormatCastlingPlanes, FormatCanonical, FormatHectoplies, FormatCanonicalV2, FormatArmageddon, FormatArmageddonV2}
}

// Hectoplies says whether plane 109 is rule50/100 in Leela's nets, and not plies.
func (f InputFormat) Hectoplies() bool { return f >= FormatHectoplies }

func (f InputFormat) armageddon() bool { return f == FormatArmageddon || f == FormatArmageddonV2 }

// Aux holds the planes 104 to 109 of any format as masks.
type Aux struct {
	Castling    [4]uint64 // planes 104-107; from format 2 on only the first two: rooks that may O-O-O, O-O
	SideOrEP    uint64    // plane 108: all ones if black is to move; from format 3 on: en-passant file, on rank 8
	Rule50      uint8     // plane 109, plies
	BlackToMove bool      // also where plane 108 does not say it
}

// EncodeFormat writes the input of h's newest position in format f and returns
// the transform that was applied to it (0 in formats 1 and 2); the policy's moves
// are to be transformed likewise. It panics on a format that it does not know.
func EncodeFormat(f InputFormat, h *chess.History, masks *[NumMasks]uint64, aux *Aux) Transform {
	if !slices.Contains(InputFormats(), f) {
		panic(fmt.Sprintf("encoding: input format %d", f))
	}
	var s Scalars
	Encode(h, masks, &s)
	b := h.Board()
	*aux = Aux{Rule50: s.Rule50, BlackToMove: s.BlackToMove == 1}
	if aux.BlackToMove && f < FormatCanonical {
		aux.SideOrEP = allOnes
	}
	if f == FormatClassical {
		for i, v := range [4]uint8{s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO} {
			aux.Castling[i] = -uint64(v)
		}
		return 0
	}
	aux.Castling = castlingRooks(b)
	if f == FormatCastlingPlanes {
		return 0
	}
	if ep := b.EnPassant(); ep != chess.NoSquare {
		aux.SideOrEP = 1 << (56 + ep&7)
	}
	canonicalHistory(h, masks, f == FormatCanonicalV2 || f == FormatArmageddonV2)
	t := CanonicalTransform(b)
	for i, m := range masks {
		masks[i] = t.Mask(m)
	}
	aux.SideOrEP = t.Mask(aux.SideOrEP)
	return t
}

// fillFormat is fillPosition of a batch that is not of format 1.
func fillFormat(b *Batch, i int, h *chess.History, l *chess.MoveList) {
	var aux Aux
	t := EncodeFormat(b.Format, h, &b.Masks[i], &aux)
	file := func(m uint64) uint8 { // 1 + that of the only square in a rank
		if m &= 0xff; m == 0 {
			return 0
		}
		return uint8(1 + bits.TrailingZeros64(m))
	}
	s := Scalars{
		OurOOO: file(aux.Castling[0]), OurOO: file(aux.Castling[1]), TheirOOO: file(aux.Castling[0] >> 56), TheirOO: file(aux.Castling[1] >> 56),
		BlackToMove: file(aux.SideOrEP >> 56), Rule50: aux.Rule50,
	}
	if b.Format == FormatCastlingPlanes {
		s.BlackToMove &= 1 // all ones begin with file a
	}
	if b.Format.armageddon() && aux.BlackToMove {
		s.BlackToMove |= armageddonBlack
	}
	b.Scalars[i] = s
	legal := b.LegalOf(i)
	for j, m := range l.Slice() {
		legal[j] = PolicyIndex(t.Move(m))
	}
}

// armageddonBlack marks black to move in Scalars.BlackToMove of formats whose plane 108
// does not say it.
const armageddonBlack = 16

// Plain returns the scalars with which a row of format f, not 1, is expanded as one of
// format 1 is. The planes that then lack squares are Squares'.
func (s *Scalars) Plain(f InputFormat) Scalars {
	plain := Scalars{Rule50: s.Rule50}
	if f == FormatCastlingPlanes {
		plain.BlackToMove = s.BlackToMove
	}
	return plain
}

// Squares calls set for each square of the planes 104 to 110 that Plain does not expand.
func (s *Scalars) Squares(f InputFormat, set func(plane, square int)) {
	for i, file := range [4]uint8{s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO} {
		if file > 0 {
			set(planeCastling+i&1, i>>1*56+int(file)-1)
		}
	}
	if f == FormatCastlingPlanes {
		return
	}
	if file := s.BlackToMove &^ armageddonBlack; file > 0 {
		set(planeBlack, 56+int(file)-1)
	}
	if s.BlackToMove&armageddonBlack != 0 {
		for sq := range NumSquares {
			set(planeRule50+1, sq)
		}
	}
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

// canonicalHistory writes the boards of h that the canonical formats show. They stop at a
// change of castling rights, at an older position with an en-passant right, and after a
// position with rule50 = 0, none of which can be repeated. Format V2 shows of the older
// ones only those that were repetitions when they came.
func canonicalHistory(h *chess.History, masks *[NumMasks]uint64, v2 bool) {
	last, n := h.Len()-1, 0
	rights := absoluteRights(h.At(last))
	for at := last; at >= 0 && n < HistoryLen; at-- {
		b := h.At(at)
		if absoluteRights(b) != rights || at < last && b.EnPassant() != chess.NoSquare {
			break
		}
		repeated := h.Repetitions(at) > 0
		if repeated || at == last || !v2 {
			dst := (*[PlanesPerBoard]uint64)(masks[n*PlanesPerBoard:])
			boardMasks(dst, b, (last-at)&1 == 1)
			if dst[planeRepetition] = 0; repeated {
				dst[planeRepetition] = allOnes
			}
			n++
		}
		if b.Rule50() == 0 {
			break
		}
	}
	clear(masks[n*PlanesPerBoard:])
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
