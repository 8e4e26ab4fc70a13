package lc0

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// What a chunk says that neither moves nor plies of a record.Game do, kept in
// its Extra. Little endian:
//
//	magic    4   "LC0X"
//	layout   1   1
//	version  1   of the chunk, 3 to 7
//	format   1   input format of the chunk
//	flags    1   extraIllegalZero, extraGuessed
//	first        varint: plies of the game before the first record
//	items        varint: their number; each: record varint (less that of the item before), kind 1, value
//
// An item says what a record holds instead of what AppendRecords would write.
const (
	extraMagic  = "LC0X"
	extraLayout = 1

	extraIllegalZero = 1 << 0 // illegal moves have probability 0, not -1
	extraGuessed     = 1 << 1 // the chunk does not tell the last move: it is the likeliest
)

// Kinds of items, with the bytes of their value.
const (
	itemBestMove  = 1 + iota // 2: policy index of the best move, board not turned
	itemBestIdx              // 2: best_idx that is no legal move
	itemPlayedIdx            // 2: played_idx that is not the move played
	itemResultM              // 0: plies_left is the M of Game.ResultAt
	itemQST                  // 4: q_st
	itemFlags                // 1: bits of invariance_info that differ
	itemPlane                // 9: number, mask (bit i = square i)
	itemVerbatim             // 1: bit k = the value k (root, best, played, orig) is not to be drawn into range
	itemDST                  // 4: d_st
	itemReplies              // 4: opp_played_idx, next_played_idx
	itemReserved             // 32: reserved
	itemResult               // 8: result_q, result_d that differ in their bits alone
	numItems
)

var itemSizes = [numItems]int{itemBestMove: 2, itemBestIdx: 2, itemPlayedIdx: 2, itemQST: 4, itemFlags: 1, itemPlane: 9,
	itemVerbatim: 1, itemDST: 4, itemReplies: 4, itemReserved: 32, itemResult: 8}

// item is one entry.
type item struct {
	record int
	kind   uint8
	value  []byte
}

// extra is the parsed block; the zero value that of a game of another origin.
type extra struct {
	version uint32 // 0 = not from a chunk
	format  uint32
	flags   uint8
	first   int
	items   []item // by record
	next    int    // cursor of of
}

// recordExtra is what extra says of one record.
type recordExtra struct {
	flags    Invariance // bits that differ
	verbatim uint8
	resultM  bool
	result   encoding.QDM // Game.ResultAt
	items    []item
}

// parseExtra reads the block; what begins otherwise is not ours and gives an
// empty one.
func parseExtra(b []byte) (*extra, error) {
	x := &extra{}
	if !bytes.HasPrefix(b, []byte(extraMagic)) {
		return x, nil
	}
	if len(b) < 8 || b[4] != extraLayout {
		return nil, recordError("extra block of %d bytes is cut off or of another layout", len(b))
	}
	x.version, x.format, x.flags = uint32(b[5]), uint32(b[6]), b[7]
	if RecordSize(x.version) == 0 || !knownFormat(x.format) {
		return nil, recordError("extra block of chunk version %d, input format %d", x.version, x.format)
	}
	b = b[8:]
	number := func() (int, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > 1<<24 {
			return 0, false
		}
		b = b[n:]
		return int(v), true
	}
	first, ok := number()
	count, ok2 := number()
	if !ok || !ok2 || count > len(b) {
		return nil, recordError("extra block is cut off")
	}
	x.first, x.items = first, make([]item, 0, count)
	for at := 0; count > 0; count-- {
		step, ok := number()
		if !ok || len(b) < 1 || b[0] == 0 || b[0] >= numItems || len(b) < 1+itemSizes[b[0]] {
			return nil, recordError("extra block: item %d is damaged", len(x.items))
		}
		at += step
		size := itemSizes[b[0]]
		x.items = append(x.items, item{record: at, kind: b[0], value: b[1 : 1+size]})
		b = b[1+size:]
	}
	if len(b) > 0 {
		return nil, recordError("extra block: %d bytes too many", len(b))
	}
	return x, nil
}

// append appends the block's bytes.
func (x *extra) append(b []byte) []byte {
	b = append(b, extraMagic...)
	b = append(b, extraLayout, byte(x.version), byte(x.format), x.flags)
	b = binary.AppendUvarint(b, uint64(x.first))
	b = binary.AppendUvarint(b, uint64(len(x.items)))
	at := 0
	for _, it := range x.items {
		b = binary.AppendUvarint(b, uint64(it.record-at))
		b = append(append(b, it.kind), it.value...)
		at = it.record
	}
	return b
}

// add appends an item; records come in order.
func (x *extra) add(record int, kind uint8, value ...byte) {
	x.items = append(x.items, item{record, kind, value})
}

// of returns what is said of a record; records are asked for in order.
func (x *extra) of(record int) recordExtra {
	for x.next < len(x.items) && x.items[x.next].record < record {
		x.next++
	}
	from := x.next
	for x.next < len(x.items) && x.items[x.next].record == record {
		x.next++
	}
	r := recordExtra{items: x.items[from:x.next]}
	for _, it := range r.items {
		switch it.kind {
		case itemFlags:
			r.flags = Invariance(it.value[0])
		case itemVerbatim:
			r.verbatim = it.value[0]
		case itemResultM:
			r.resultM = true
		}
	}
	return r
}

// applyExtra puts what the chunk said into the current record.
func (w *v6Writer) applyExtra(x recordExtra) {
	r, le := &w.record, binary.LittleEndian
	if w.extra.flags&extraIllegalZero != 0 && w.extra.version >= v6Version && w.same {
		for i, p := range r.Probabilities {
			if p == -1 {
				r.Probabilities[i] = 0
			}
		}
	}
	switch flags := x.flags; {
	case !w.same:
		r.Invariance ^= flags &^ (transforms | BlackToMove)
	case r.canonical():
		r.Invariance ^= flags &^ transforms // the transform is in it
	default:
		r.Invariance ^= flags
	}
	for _, it := range x.items {
		switch v := it.value; it.kind {
		case itemBestMove:
			r.BestIdx = le.Uint16(v)
			if m := moveAt(w.moves.Slice(), 0, r.BestIdx); m != chess.NoMove {
				r.BestIdx = w.index(m)
			}
		case itemBestIdx:
			r.BestIdx = le.Uint16(v)
		case itemPlayedIdx:
			r.PlayedIdx = le.Uint16(v)
		case itemQST:
			if q := math.Float32frombits(le.Uint32(v)); !w.ownShortTerm && (q == q || r.Version == v7Version) {
				r.QST = q
			}
		case itemPlane:
			if w.same && v[0] < encoding.NumMasks {
				r.Planes[v[0]] = le.Uint64(v[1:])
			}
		case itemResult:
			q, d := math.Float32frombits(le.Uint32(v)), math.Float32frombits(le.Uint32(v[4:]))
			if x.result.Q == q && x.result.D == d {
				r.ResultQ, r.ResultD = q, d
			}
		case itemDST:
			if !w.ownShortTerm {
				r.DST = math.Float32frombits(le.Uint32(v))
			}
		case itemReplies:
			r.OppPlayedIdx, r.NextPlayedIdx = le.Uint16(v), le.Uint16(v[2:])
		case itemReserved:
			binary.Decode(v, le, r.Reserved[:]) // v has its size
		}
	}
}

// Researched returns g without what its Extra says of searches that are not g's any more.
// g was made of before, the game of a chunk, by other rescorers, or by new searches of some
// positions. Those lose which move was the best. Where there are any, short-term values,
// which go over several positions, are computed anew.
func Researched(before, g *record.Game) (*record.Game, error) {
	again := func(ply int) bool { return !g.Plies[ply].Root.SameBits(before.Plies[ply].Root) }
	some := false
	for i := range g.Plies {
		some = some || again(i)
	}
	if !some {
		return g, nil
	}
	x, err := parseExtra(g.Extra)
	if err != nil || x.version == 0 {
		return g, err
	}
	x.items = slices.DeleteFunc(x.items, func(it item) bool {
		switch it.kind {
		case itemQST, itemDST:
			return true
		case itemBestMove, itemBestIdx, itemVerbatim:
			return again(min(x.first+it.record, len(g.Plies)-1))
		}
		return false
	})
	out := *g
	out.Extra = x.append(nil)
	return &out, nil
}
