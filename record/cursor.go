package record

import (
	"encoding/binary"
	"fmt"
	"math"
)

// cursor reads a game's bytes. The first failure sticks; later reads return
// zeros.
type cursor struct {
	src []byte
	pos int
	err error
}

func (c *cursor) fail(at int, cause error, format string, args ...any) {
	if c.err == nil {
		c.err = &CorruptError{Offset: at, Reason: fmt.Sprintf(format, args...), err: cause}
		c.pos = len(c.src)
	}
}

// take returns the next n bytes, nil after a failure.
func (c *cursor) take(n int, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n > len(c.src)-c.pos {
		c.fail(c.pos, ErrTruncated, "%s: %d bytes wanted, %d left", what, n, len(c.src)-c.pos)
		return nil
	}
	c.pos += n
	return c.src[c.pos-n : c.pos]
}

func (c *cursor) u8(what string) byte { return byte(c.uint(1, what)) }

// uint reads a number of so many bytes.
func (c *cursor) uint(bytes int, what string) (v uint64) {
	for i, b := range c.take(bytes, what) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// float reads a float32; of the NaNs only the canonical one is accepted.
func (c *cursor) float(what string) float32 {
	b := c.take(4, what)
	if b == nil {
		return 0
	}
	bits := binary.LittleEndian.Uint32(b)
	v := math.Float32frombits(bits)
	if v != v && bits != canonicalNaN {
		c.fail(c.pos-4, nil, "%s: NaN spelt %#08x, want %#08x", what, bits, uint32(canonicalNaN))
	}
	return v
}

// varint reads a number of at most limit in its shortest spelling.
func (c *cursor) varint(limit uint64, what string) uint64 {
	if c.err != nil {
		return 0
	}
	v, n := binary.Uvarint(c.src[c.pos:])
	switch {
	case n == 0:
		c.fail(c.pos, ErrTruncated, "%s: the bytes end inside a varint", what)
		return 0
	case n < 0 || n > 1 && c.src[c.pos+n-1] == 0:
		c.fail(c.pos, nil, "%s: not a varint in its shortest form", what)
		return 0
	case v > limit:
		c.fail(c.pos, nil, "%s: %d, at most %d", what, v, limit)
		return 0
	}
	c.pos += n
	return v
}

// bytes reads a length of at most limit and as many bytes.
func (c *cursor) bytes(limit int, what string) []byte {
	return c.take(int(c.varint(uint64(limit), what+" length")), what)
}
