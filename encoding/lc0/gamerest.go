package lc0

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// keepRest writes the game's records again and keeps in Extra what comes out
// otherwise than it was. What the moves decide must come out right.
func (r *recovery) keepRest() error {
	version := max(r.extra.version, v6Version)
	blank := &extra{version: r.extra.version, format: r.extra.format, first: r.extra.first, flags: r.extra.flags}
	w, err := newWriter(r.game, Form{Version: version}, blank)
	if err != nil {
		return err
	}
	w.noPolicy = true // compare does not ask for it: policy has read it bit by bit
	for i := range r.game.Plies {
		if n := i - blank.first; n >= 0 {
			rec := &r.records[n]
			// The turn of the board must be known before it is drawn.
			if turn := w.turn(rec); turn != 0 {
				blank.items, blank.next = append(blank.items[:0], item{n, itemFlags, []byte{byte(turn)}}), 0
			}
			w.fill(i)
			if err := r.compare(w, n); err != nil {
				return fmt.Errorf("record %d: %w", n, err)
			}
		}
		w.history.Push(r.game.Plies[i].Move)
	}
	r.game.Extra = r.extra.append(nil)
	return nil
}

// turn returns the bits in which a record's transform differs from the usual one.
func (w *v6Writer) turn(rec *Record) encoding.Transform {
	if !rec.canonical() {
		return 0
	}
	return rec.transform() ^ encoding.CanonicalTransform(w.history.Board())
}

// compare holds what w wrote of record n against it.
func (r *recovery) compare(w *v6Writer, n int) error {
	got, want := &w.record, &r.records[n]
	switch {
	case got.Castling != want.Castling:
		return fmt.Errorf("castling bytes are %v, the moves leave %v", want.Castling, got.Castling)
	case got.SideOrEP != want.SideOrEP:
		return fmt.Errorf("side_to_move_or_enpassant is %d, the moves make it %d", want.SideOrEP, got.SideOrEP)
	case got.Rule50 != want.Rule50:
		return fmt.Errorf("rule50_count is %d, the moves make it %d", want.Rule50, got.Rule50)
	case got.canonical() && (got.Invariance^want.Invariance)&BlackToMove != 0:
		return fmt.Errorf("the wrong side is to move")
	}
	if got.Planes != want.Planes {
		for k, m := range want.Planes {
			if got.Planes[k] != m {
				r.extra.add(n, itemPlane, binary.LittleEndian.AppendUint64([]byte{byte(k)}, m)...)
			}
		}
	}
	version := want.version()
	if version >= v5Version {
		r.compareV5(w, n)
	}
	if version >= v6Version {
		r.compareV6(w, n)
	}
	if version == v7Version {
		r.compareV7(w, n)
	}
	return nil
}

func (r *recovery) compareV5(w *v6Writer, n int) {
	got, want := &w.record, &r.records[n]
	diff := got.Invariance ^ want.Invariance
	if want.canonical() {
		diff |= Invariance(w.turn(want))
	}
	if diff != 0 {
		r.extra.add(n, itemFlags, byte(diff))
	}
	if math.Float32bits(got.PliesLeft) != math.Float32bits(want.PliesLeft) {
		result := r.game.ResultAt(r.extra.first + n)
		result.M = want.PliesLeft
		r.game.SetResult(r.extra.first+n, result)
		r.extra.add(n, itemResultM)
	}
}

func (r *recovery) compareV6(w *v6Writer, n int) {
	got, want, le := &w.record, &r.records[n], binary.LittleEndian
	if got.PlayedIdx != want.PlayedIdx {
		r.extra.add(n, itemPlayedIdx, le.AppendUint16(nil, want.PlayedIdx)...)
	}
	if got.BestIdx != want.BestIdx {
		kind, value := uint8(itemBestIdx), want.BestIdx
		if m := moveAt(w.moves.Slice(), w.transform, want.BestIdx); m != chess.NoMove {
			kind, value = itemBestMove, encoding.PolicyIndex(m)
		}
		r.extra.add(n, kind, le.AppendUint16(nil, value)...)
	}
	verbatim := byte(0)
	pairs := [...][2]encoding.QDM{{got.Root, want.Root}, {got.Best, want.Best}, {got.Played, want.Played}, {got.Orig, want.Orig}}
	for k, v := range pairs {
		if !v[0].SameBits(v[1]) && v[1] == v[1] {
			verbatim |= 1 << k
		}
	}
	if q, d := math.Float32bits(want.ResultQ), math.Float32bits(want.ResultD); math.Float32bits(got.ResultQ) != q || math.Float32bits(got.ResultD) != d {
		r.extra.add(n, itemResult, le.AppendUint32(le.AppendUint32(nil, q), d)...)
	}
	if verbatim != 0 {
		r.extra.add(n, itemVerbatim, verbatim)
	}
	if want.version() == v7Version || math.Float32bits(got.QST) != math.Float32bits(want.QST) {
		r.extra.add(n, itemQST, le.AppendUint32(nil, math.Float32bits(want.QST))...)
	}
}

func (r *recovery) compareV7(w *v6Writer, n int) {
	got, want, le := &w.record, &r.records[n], binary.LittleEndian
	r.extra.add(n, itemDST, le.AppendUint32(nil, math.Float32bits(want.DST))...)
	if got.OppPlayedIdx != want.OppPlayedIdx || got.NextPlayedIdx != want.NextPlayedIdx {
		r.extra.add(n, itemReplies, le.AppendUint16(le.AppendUint16(nil, want.OppPlayedIdx), want.NextPlayedIdx)...)
	}
	a, _ := binary.Append(nil, le, got.Reserved[:]) // numbers have a size
	b, _ := binary.Append(nil, le, want.Reserved[:])
	if string(a) != string(b) {
		r.extra.add(n, itemReserved, b...)
	}
}
