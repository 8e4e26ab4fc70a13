package syzygy

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/chess"
)

// parse reads the head behind the magic and places the parts.
func (f *file) parse(r *headReader) error {
	flags := r.byte()
	want := byte(0)
	if f.men != f.men.swapped() {
		want |= headFlagSplit
	}
	if f.men.hasPawns() {
		want |= headFlagPawns
	}
	if flags&(headFlagSplit|headFlagPawns) != want {
		return fmt.Errorf("flags %#x do not fit %v: the table of another ending; give the file its right name", flags, f.men)
	}
	if err := f.parseOrders(r); err != nil {
		return err
	}
	r.align()
	for p := range f.all {
		if err := readPairs(r, p); err != nil {
			return err
		}
	}
	if f.dtz {
		f.parseLists(r)
	}
	if r.err != nil {
		return r.err
	}
	return f.place(int64(r.at))
}

// sides returns how many sides to move the file holds.
func (f *file) sides() int {
	if f.dtz || f.men == f.men.swapped() {
		return 1
	}
	return 2
}

// all yields the parts in the order of the file.
func (f *file) all(yield func(*pairs) bool) {
	for i := range 4 {
		for side := range 2 {
			if p := f.parts[side][i]; p != nil && !yield(p) {
				return
			}
		}
	}
}

// parseOrders reads the order of men and factors of each part: the low half of
// each byte is for side 0 to move, the high half for side 1.
func (f *file) parseOrders(r *headReader) error {
	files := 1
	if f.men.hasPawns() {
		files = 4
	}
	both := f.men[0][chess.Pawn] > 0 && f.men[1][chess.Pawn] > 0
	for i := range files {
		ranks := [2]byte{r.byte(), 0xff}
		if both {
			ranks[1] = r.byte()
		}
		var men [maxMen]byte
		for j := range f.men.men() {
			men[j] = r.byte()
		}
		for side := range f.sides() {
			half := func(b byte) byte { return b >> (4 * side) & 15 }
			order := make([]man, f.men.men())
			for j := range order {
				code := half(men[j]) // 1 pawn to 6 king, the other side's 9 to 14
				if code&7 == 0 || code&7 == 7 {
					return fmt.Errorf("man code %d; get the file again", code)
				}
				order[j] = man{code >> 3, chess.PieceType(code&7 - 1)}
			}
			l, err := newLayout(f.men, order, [2]int{int(half(ranks[0])), int(half(ranks[1]))}, i)
			if err != nil {
				return fmt.Errorf("%w; get the file again", err)
			}
			f.parts[side][i] = &pairs{layout: l}
		}
	}
	return nil
}

// parseLists reads the lists of DTZ values of the parts that have them.
func (f *file) parseLists(r *headReader) {
	for p := range f.all {
		if p.flags&flagMapped == 0 {
			continue
		}
		wide := p.flags&flagWide != 0
		if wide {
			r.align()
		}
		next := func() uint16 {
			if wide {
				return r.uint16()
			}
			return uint16(r.byte())
		}
		for i := range p.maps {
			n := next()
			for range n {
				p.maps[i] = append(p.maps[i], next())
			}
			if r.err != nil {
				return
			}
		}
	}
	r.align()
}

// place sets where the parts' indices and blocks lie and checks that they end
// within the file.
func (f *file) place(at int64) error {
	for p := range f.all {
		p.sparseAt = at
		if p.flags&flagOneValue == 0 {
			at += int64((p.size+p.span-1)/p.span) * sparseSize
		}
	}
	for p := range f.all {
		p.lengthsAt = at
		at += int64(p.numLengths) * 2
	}
	for p := range f.all {
		at = (at + blockAlign - 1) / blockAlign * blockAlign
		p.blocksAt = at
		at += int64(p.numBlocks) * p.blockSize
	}
	if at > f.size {
		return fmt.Errorf("its parts end at byte %d of %d: truncated; get the file again", at, f.size)
	}
	return nil
}

// errShortHead is the fault of a file that ends within its head.
var errShortHead = errors.New("the file ends within its head, or the head is no table's; get the file again")

// headReader reads the head of a table file; after the first read past the end
// all values are 0.
type headReader struct {
	data []byte
	at   int
	err  error // errShortHead or nil
}

// take returns the next n bytes, or n zero bytes past the end (n <= 4).
func (r *headReader) take(n int) []byte {
	if len(r.data)-r.at < n {
		r.err, r.at = errShortHead, len(r.data)
		return make([]byte, n)
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *headReader) byte() byte     { return r.take(1)[0] }
func (r *headReader) uint16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *headReader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *headReader) skip(n int)     { r.take(n) }

// align skips to an even place.
func (r *headReader) align() { r.skip(r.at & 1) }
