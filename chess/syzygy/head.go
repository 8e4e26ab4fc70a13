package syzygy

import (
	"encoding/binary"
	"errors"
)

// errShortHead is the fault of a file that ends within its head.
var errShortHead = errors.New("the file ends within its head, or the head is no table's; get the file again")

// headReader reads the head of a table file; after the first read past the end
// all values are 0.
type headReader struct {
	data  []byte
	at    int
	short bool
}

func (r *headReader) err() error {
	if r.short {
		return errShortHead
	}
	return nil
}

// take returns the next n bytes, or n zero bytes past the end (n <= 4).
func (r *headReader) take(n int) []byte {
	if len(r.data)-r.at < n {
		r.short = true
		r.at = len(r.data)
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
