package replay

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/chessbrain/chessbrain/encoding"
)

// Decoder reads little-endian bytes one after the other. After the first fault, which
// stays in Err, everything reads as 0.
type Decoder struct {
	Data []byte
	Pos  int
	Err  error
}

// Fail notes a fault at Pos.
func (d *Decoder) Fail(format string, args ...any) {
	if d.Err == nil {
		d.Err = fmt.Errorf(format, args...)
	}
}

// More says whether bytes are left, and no fault was found.
func (d *Decoder) More() bool { return d.Err == nil && d.Pos < len(d.Data) }

// End returns the fault, or one where bytes are left.
func (d *Decoder) End() error {
	if d.More() {
		d.Fail("%d bytes too many", len(d.Data)-d.Pos)
	}
	return d.Err
}

// Take returns the next n bytes, nil at a fault.
func (d *Decoder) Take(n int) []byte {
	if d.Err != nil {
		return nil
	}
	if uint(n) > uint(len(d.Data)-d.Pos) { // also below 0, as a length that an int cannot hold
		d.Fail("cut off: %d bytes wanted, %d are there", n, len(d.Data)-d.Pos)
		return nil
	}
	d.Pos += n
	return d.Data[d.Pos-n : d.Pos : d.Pos]
}

// zeros stand for a number of up to eight bytes that is not there.
var zeros [8]byte

// number returns the n bytes of a number.
func (d *Decoder) number(n int) []byte {
	if p := d.Take(n); p != nil {
		return p
	}
	return zeros[:]
}

// U8 reads a byte.
func (d *Decoder) U8() uint8 { return d.number(1)[0] }

// U16 reads a number of two bytes.
func (d *Decoder) U16() uint16 { return le.Uint16(d.number(2)) }

// U32 reads a number of four bytes.
func (d *Decoder) U32() uint32 { return le.Uint32(d.number(4)) }

// U64 reads a number of eight bytes.
func (d *Decoder) U64() uint64 { return le.Uint64(d.number(8)) }

// Float reads a float32.
func (d *Decoder) Float() float32 { return math.Float32frombits(d.U32()) }

// Uvarint reads a number of at most limit.
func (d *Decoder) Uvarint(limit uint64) uint64 {
	if d.Err != nil {
		return 0
	}
	if rest := d.Data[d.Pos:]; len(rest) > 0 && rest[0] < 0x80 && uint64(rest[0]) <= limit {
		d.Pos++ // most of them
		return uint64(rest[0])
	}
	v, n := binary.Uvarint(d.Data[d.Pos:])
	if n <= 0 || v > limit {
		d.Fail("bad number")
		return 0
	}
	d.Pos += n
	return v
}

// Bytes reads a length of at most limit and as many bytes.
func (d *Decoder) Bytes(limit uint64) []byte { return d.Take(int(d.Uvarint(limit))) }

// QDM reads three float32.
func (d *Decoder) QDM() encoding.QDM { return encoding.QDM{Q: d.Float(), D: d.Float(), M: d.Float()} }

// AppendQDM appends what Decoder.QDM reads.
func AppendQDM(dst []byte, v encoding.QDM) []byte {
	for _, f := range [3]float32{v.Q, v.D, v.M} {
		dst = le.AppendUint32(dst, math.Float32bits(f))
	}
	return dst
}

// CountBoards returns how many history boards the masks show, and as bit t whether
// board t had occurred before. An error says what is no board: two men on a square, half
// a repetition plane.
func CountBoards(masks *[encoding.NumMasks]uint64) (boards int, repeated uint8, err error) {
	const size = encoding.PlanesPerBoard
	for t := range encoding.HistoryLen {
		board := (*[size]uint64)(masks[t*size:])
		occupied, twice, again := uint64(0), uint64(0), board[size-1]
		for _, m := range board[:size-1] {
			twice |= occupied & m
			occupied |= m
		}
		if occupied|again != 0 {
			boards = t + 1
		}
		switch {
		case twice != 0:
			return 0, 0, fmt.Errorf("two men on square %d of history board %d", bits.TrailingZeros64(twice), t)
		case again == ^uint64(0):
			repeated |= 1 << t
		case again != 0:
			return 0, 0, fmt.Errorf("repetition plane of history board %d is %#x, neither empty nor full", t, again)
		}
	}
	return boards, repeated, nil
}

// AppendMen appends a board, the planes of its men: the squares that are not empty, then
// for each, the lowest first, its plane in four bits, the lower ones first. A square has
// one man at most.
func AppendMen(dst []byte, planes []uint64) []byte {
	var code [64]uint8
	occupied := uint64(0)
	for plane, m := range planes {
		occupied |= m
		for ; m != 0; m &= m - 1 {
			code[bits.TrailingZeros64(m)&63] = uint8(plane)
		}
	}
	dst = le.AppendUint64(dst, occupied)
	for m := occupied; m != 0; m &= m - 1 {
		low := code[bits.TrailingZeros64(m)&63]
		if m &= m - 1; m == 0 {
			return append(dst, low)
		}
		dst = append(dst, low|code[bits.TrailingZeros64(m)&63]<<4)
	}
	return dst
}

// Men adds to planes, which come zeroed, what AppendMen wrote.
func (d *Decoder) Men(planes []uint64) {
	occupied := d.U64()
	code := d.Take((bits.OnesCount64(occupied) + 1) / 2)
	if d.Err != nil {
		return
	}
	for k := 0; occupied != 0; k++ {
		plane := int(code[k/2] >> (4 * (k % 2)) & 15)
		if plane >= len(planes) {
			d.Fail("man %d", plane)
			return
		}
		planes[plane] |= occupied & -occupied
		occupied &= occupied - 1
	}
}
