package lc0

import (
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// Leela's input formats as records number them. The records of 4 and 132 are those of
// format 3, those of 133 are those of 5.
const (
	formatClassical      = uint32(encoding.FormatClassical)
	formatCastlingPlanes = uint32(encoding.FormatCastlingPlanes)
	formatCanonical      = uint32(encoding.FormatCanonical)
)

// InputFormats lists the known input formats.
func InputFormats() (list []uint32) {
	for _, f := range encoding.InputFormats() {
		list = append(list, uint32(f))
	}
	return list
}

func knownFormat(f uint32) bool {
	return f < 256 && slices.Contains(encoding.InputFormats(), encoding.InputFormat(f))
}

// fillInput writes planes, castling rights, side, rule50 and the transform,
// whose bits in turn differ from the usual ones.
func (w *v6Writer) fillInput(turn Invariance) {
	r, b := &w.record, w.history.Board()
	var aux encoding.Aux
	w.transform = encoding.EncodeFormat(encoding.InputFormat(r.InputFormat), w.history, &r.Planes, &aux)
	for i := range r.Castling {
		r.Castling[i] = 0
		if rook, ok := b.CastlingRook(i < 2, i&1 == 1); ok {
			r.Castling[i] = 1
			if r.InputFormat != formatClassical {
				r.Castling[i] = 1 << rook.File()
			}
		}
	}
	r.Rule50, r.SideOrEP, r.Invariance = aux.Rule50, 0, 0
	if !r.canonical() {
		if aux.BlackToMove {
			r.SideOrEP = 1
		}
		return
	}
	if other := w.transform ^ encoding.Transform(turn&transforms); w.same && other != w.transform && other&^symmetries(b) == 0 {
		undo := w.transform.Inverse()
		for i, m := range r.Planes {
			r.Planes[i] = other.Mask(undo.Mask(m))
		}
		aux.SideOrEP = other.Mask(undo.Mask(aux.SideOrEP))
		w.transform = other
	}
	r.SideOrEP, r.Invariance = uint8(aux.SideOrEP>>56), Invariance(w.transform)
	if aux.BlackToMove {
		r.Invariance |= BlackToMove
	}
}

// symmetries returns the steps of transforms under which moves of b have an
// index: none with castling rights, files flipped with pawns, else all.
func symmetries(b *chess.Board) encoding.Transform {
	if b.MayCastle() {
		return 0
	}
	if b.Ours(chess.Pawn)|b.Theirs(chess.Pawn) != 0 {
		return encoding.FlipFiles
	}
	return encoding.NumTransforms - 1
}
