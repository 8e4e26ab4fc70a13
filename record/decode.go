package record

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// Decode reads the game at the start of src and returns it with the number of
// its bytes. The game is valid and keeps no reference to src. Errors are
// *CorruptError; errors.Is(err, ErrTruncated) says that src ends too early.
// It allocates at most a small multiple of len(src).
func Decode(src []byte) (*Game, int, error) {
	body, size, v, err := frame(src)
	if err != nil {
		return nil, 0, err
	}
	d := decoder{cursor: cursor{src: src[:size-crcSize], pos: body}, version: v}
	d.walker = walkers.Get().(*walker)
	defer walkers.Put(d.walker)
	g := d.game()
	if d.err != nil {
		return nil, 0, d.final()
	}
	return g, size, nil
}

// DecodeHeader reads the game at the start of src without its plies: a Game
// with Plies, Results and Extra nil, the number of its plies, and the number of its
// bytes. It checks the length, the checksum and the header's fields, but plays
// no moves, which makes it some hundred times cheaper than Decode: for scans
// that count, list or look for doubles. Errors are as Decode's.
func DecodeHeader(src []byte) (g *Game, plies, size int, err error) {
	body, size, _, err := frame(src)
	if err != nil {
		return nil, 0, 0, err
	}
	d := decoder{cursor: cursor{src: src[:size-crcSize], pos: body}}
	g = new(Game)
	if plies = d.header(g); d.err != nil {
		return nil, 0, 0, d.final()
	}
	return g, plies, size, nil
}

// frame checks what surrounds a body and returns where the body begins, how
// many bytes the game has and the version of its format.
func frame(src []byte) (body, size int, v byte, err error) {
	c := cursor{src: src}
	for i := range len(magic) {
		if at := c.pos; c.u8("magic") != magic[i] {
			c.fail(at, nil, "not the start of a game: no magic")
		}
	}
	if v = c.u8("version"); v != version && v != versionResults {
		c.fail(c.pos-1, ErrVersion, "version %d, this program reads %d and %d", v, version, versionResults)
	}
	n := int(c.varint(MaxBytes, "body length"))
	body = c.pos
	c.take(n, "body")
	sumAt := c.pos
	stored := uint32(c.uint(crcSize, "checksum"))
	if size = c.pos; size > MaxBytes {
		c.fail(0, nil, "%d bytes, at most %d", size, MaxBytes)
	}
	if c.err == nil {
		if got := crc32.Checksum(src[:sumAt], castagnoli); got != stored {
			c.fail(sumAt, nil, "checksum is %#08x, the bytes have %#08x", stored, got)
		}
	}
	return body, size, v, c.err
}

// decoder reads a body.
type decoder struct {
	cursor
	version byte
	walker  *walker
	counts  []uint32  // what is left of the block that Counts are cut from
	probs   []float32 // likewise
}

// final returns the error of a body. Its frame is whole and its sum is right,
// so that more bytes would not help: it is not truncated.
func (d *decoder) final() error {
	var c *CorruptError
	if errors.As(d.err, &c) && c.err == ErrTruncated {
		c.err = nil
	}
	return d.err
}

func (d *decoder) game() *Game {
	g := new(Game)
	if n := d.header(g); n > 0 {
		g.Plies = make([]Ply, n)
	}
	moves := d.take(2*len(g.Plies), "moves")
	table := d.take(2*len(g.Plies), "ply table")
	if d.err != nil {
		return nil
	}
	d.invalid(0, d.walker.begin(g))
	for i := range g.Plies {
		if d.err != nil {
			return nil
		}
		at, p := d.pos, &g.Plies[i]
		p.Move = chess.Move(binary.LittleEndian.Uint16(moves[2*i:]))
		d.ply(p, len(d.walker.generate()))
		if want := int(binary.LittleEndian.Uint16(table[2*i:])); d.err == nil && d.pos-at != want {
			d.fail(at, nil, "ply %d: %d bytes, the table says %d", i, d.pos-at, want)
		}
		if d.err == nil {
			d.invalid(at, d.walker.checkPly(i, p))
		}
		if d.err == nil {
			d.walker.history.Push(p.Move)
		}
	}
	if d.version == versionResults {
		d.results(g)
	}
	if extra := d.bytes(MaxBytes, "extra"); len(extra) > 0 {
		g.Extra = append([]byte(nil), extra...)
	}
	if d.err == nil && d.pos != len(d.src) {
		d.fail(d.pos, nil, "%d bytes after the end of the game", len(d.src)-d.pos)
	}
	if d.err == nil {
		d.invalid(0, d.walker.checkEnd(g))
	}
	return g
}

// invalid turns a game's invalidity, if any, into corruption at an offset.
func (d *decoder) invalid(at int, err error) {
	if err != nil {
		d.fail(at, err, "%v", err)
	}
}

// header reads all fields of the header into g, checks them and returns the number of
// plies, which is no more than the bytes that are left can hold.
func (d *decoder) header(g *Game) int {
	copy(g.ID[:], d.take(len(g.ID), "id"))
	g.Start = string(d.bytes(MaxText, "start"))
	g.NetID = string(d.bytes(MaxText, "net id"))
	g.Seed = d.uint(8, "seed")
	g.Ordinal = d.uint(8, "ordinal")
	g.Flags = GameFlags(d.uint(2, "flags"))
	g.End = EndReason(d.u8("end reason"))
	g.WhiteResult = int8(d.u8("result"))
	plies := int(d.varint(uint64(len(d.src)-d.pos)/minPlyBytes, "number of plies"))
	if d.err == nil {
		d.invalid(0, g.checkHeader())
	}
	return plies
}

// ply reads the entry of a position with numLegal legal moves, which the
// walker has generated.
func (d *decoder) ply(p *Ply, numLegal int) {
	p.Flags = PlyFlags(d.u8("ply flags"))
	p.Visits = uint32(d.varint(math.MaxUint32, "visits"))
	p.Weight = d.float("weight")
	p.KLD = d.float("kld")
	for _, v := range [...]*encoding.QDM{&p.Root, &p.Best, &p.Played, &p.Orig} {
		*v = d.value()
	}
	at := d.pos
	p.Kind = PolicyKind(d.u8("policy kind"))
	switch {
	case d.err != nil || p.Kind == PolicyNone:
	case p.Kind == PolicyCounts:
		p.Counts = Cut(&d.counts, numLegal)
		d.pairs(p.Counts, d.walker.diskOrder())
	case p.Kind == PolicyProbs:
		p.Probs = Cut(&d.probs, numLegal)
		for _, j := range d.walker.diskOrder() {
			p.Probs[j] = d.float("probability")
		}
	default:
		d.fail(at, nil, "unknown policy kind %d", p.Kind)
	}
}

func (d *decoder) value() encoding.QDM {
	return encoding.QDM{Q: d.float("Q"), D: d.float("D"), M: d.float("M")}
}

// results reads the outcomes of single positions. A game without plies has
// none, and then version 1.
func (d *decoder) results(g *Game) {
	if len(g.Plies) == 0 {
		d.fail(d.pos, nil, "version %d of a game without plies", d.version)
	}
	if d.take(resultBytes*len(g.Plies), "results"); d.err != nil { // before memory is asked for
		return
	}
	d.pos -= resultBytes * len(g.Plies)
	g.Results = make([]encoding.QDM, len(g.Plies))
	for i := range g.Results {
		g.Results[i] = d.value()
	}
}

// pairs reads the visits of a position, by ascending ordinal.
func (d *decoder) pairs(counts []uint32, order []uint8) {
	n := d.varint(uint64(len(order)), "number of visited moves")
	last := -1
	for range n {
		at := d.pos
		ordinal := int(d.u8("ordinal"))
		visits := uint32(d.varint(math.MaxUint32, "visits of a move"))
		switch {
		case d.err != nil:
			return
		case ordinal <= last || ordinal >= len(order):
			d.fail(at, nil, "ordinal %d after %d of %d legal moves", ordinal, last, len(order))
			return
		case visits == 0:
			d.fail(at, nil, "zero visits")
			return
		}
		counts[order[ordinal]] = visits
		last = ordinal
	}
}

// Cut returns n zeroed elements of a block that is renewed when used up, so
// that a game costs a few allocations and not one per ply.
func Cut[T any](block *[]T, n int) []T {
	if len(*block) < n {
		*block = make([]T, max(n, 1024))
	}
	s := (*block)[:n:n]
	*block = (*block)[n:]
	return s
}
