package lc0

import (
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// Leela's input formats. 4 is 3 with rule50 fed as count/100, 132 is 4 with a
// plane for black: their records are those of format 3. 5 and 133 are 4 and 132
// that show of the history only positions that are repetitions.
const (
	formatClassical      = uint32(encoding.FormatClassical)
	formatCastlingPlanes = uint32(encoding.FormatCastlingPlanes)
	formatCanonical      = uint32(encoding.FormatCanonical)
	formatHectoplies     = 4
	formatCanonicalV2    = 5
	formatArmageddon     = 132
	formatArmageddonV2   = 133
)

// InputFormats lists the known input formats.
func InputFormats() []uint32 {
	return []uint32{formatClassical, formatCastlingPlanes, formatCanonical, formatHectoplies, formatCanonicalV2, formatArmageddon, formatArmageddonV2}
}

func knownFormat(f uint32) bool {
	return f >= formatClassical && f <= formatCanonicalV2 || f == formatArmageddon || f == formatArmageddonV2
}

// fillInput writes planes, castling rights, side, rule50 and the transform,
// whose bits in turn differ from the usual ones.
func (w *v6Writer) fillInput(turn Invariance) {
	r, b := &w.record, w.history.Board()
	var aux encoding.Aux
	w.transform = encoding.EncodeFormat(encoding.InputFormat(min(r.InputFormat, formatCanonical)), w.history, &r.Planes, &aux)
	if r.InputFormat == formatCanonicalV2 || r.InputFormat == formatArmageddonV2 {
		dropUnrepeated(&r.Planes)
	}
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

// dropUnrepeated empties the older boards that are no repetitions.
func dropUnrepeated(masks *[encoding.NumMasks]uint64) {
	for t := encoding.PlanesPerBoard; t < encoding.NumMasks; t += encoding.PlanesPerBoard {
		if masks[t+encoding.PlanesPerBoard-1] == 0 {
			clear(masks[t : t+encoding.PlanesPerBoard])
		}
	}
}
