package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// TestDecoder: what is there is read, and after the first fault everything is 0.
func TestDecoder(t *testing.T) {
	data := []byte{7, 1, 2}
	data = le.AppendUint64(data, 1<<60)
	data = le.AppendUint32(data, math.Float32bits(-2.5))
	data = binary.AppendUvarint(binary.AppendUvarint(data, 127), 300)
	data = append(append(data, 3), "abc"...)
	d := Decoder{Data: data}
	if a, b, c, f := d.U8(), d.U16(), d.U64(), d.Float(); a != 7 || b != 513 || c != 1<<60 || f != -2.5 {
		t.Errorf("%d %d %d %g", a, b, c, f)
	}
	a, b, text := d.Uvarint(127), d.Uvarint(300), d.Bytes(3)
	if a != 127 || b != 300 || string(text) != "abc" || cap(text) != 3 {
		t.Errorf("%d %d %q", a, b, text)
	}
	if d.More() || d.End() != nil {
		t.Errorf("more: %v, %v", d.More(), d.End())
	}
	d.Pos--
	if err := d.End(); err == nil || err.Error() != "1 bytes too many" || d.More() {
		t.Errorf("a byte behind the end: %v", err)
	}
}

func TestDecoderFaults(t *testing.T) {
	men := func(d *Decoder) any { d.Men(make([]uint64, 2)); return 0 }
	twice := func(d *Decoder) any { d.U64(); return d.U64() }
	long := func(d *Decoder) any { return d.Uvarint(math.MaxUint64) }
	for name, c := range map[string]struct {
		data   []byte
		read   func(d *Decoder) any
		reason string
		pos    int // of the fault
	}{
		"nothing":      {nil, func(d *Decoder) any { return d.U8() }, "1 bytes wanted, 0 are there", 0},
		"cut off":      {make([]byte, 9), twice, "8 bytes wanted, 1 are there", 8},
		"below 0":      {make([]byte, 9), func(d *Decoder) any { d.U64(); return d.Take(-1) }, "cut off", 8},
		"limit":        {[]byte{9}, func(d *Decoder) any { return d.Uvarint(8) }, "bad number", 0},
		"long limit":   {[]byte{0x80, 2}, func(d *Decoder) any { return d.Uvarint(255) }, "bad number", 0},
		"no end":       {[]byte{0x80}, long, "bad number", 0},
		"overflow":     {bytes.Repeat([]byte{0xff}, 11), long, "bad number", 0},
		"short string": {[]byte{4, 1, 2}, func(d *Decoder) any { return d.Bytes(9) }, "4 bytes wanted, 2 are there", 1},
		"plane":        {[]byte{1, 0, 0, 0, 0, 0, 0, 0, 2}, men, "man 2", 9},
		"planes":       {[]byte{7, 0, 0, 0, 0, 0, 0, 0, 2}, men, "2 bytes wanted, 1 are there", 8},
	} {
		d := Decoder{Data: c.data}
		if v := fmt.Sprint(c.read(&d)); v != "0" && v != "[]" {
			t.Errorf("%s: %s", name, v)
		}
		err := d.Err
		if err == nil || !strings.Contains(err.Error(), c.reason) || d.Pos != c.pos {
			t.Errorf("%s: %v at %d, want %s at %d", name, err, d.Pos, c.reason, c.pos)
		}
		d.Fail("another one")
		if d.U8() != 0 || d.Uvarint(9) != 0 || d.Take(0) != nil || d.More() || d.End() != err || d.Pos != c.pos {
			t.Errorf("%s: it goes on after %v", name, err)
		}
	}
}

// TestMen: boards come back, and squares with two men are told.
func TestMen(t *testing.T) {
	for _, planes := range [][]uint64{{0, 0}, {1, 0, 1 << 63}, {0x00ff00000000ff00, 0x42, 0x4200000000000000, 0x81}} {
		data := AppendMen([]byte("x"), planes)
		d, got := Decoder{Data: data, Pos: 1}, make([]uint64, len(planes))
		if d.Men(got); d.End() != nil || !slices.Equal(got, planes) {
			t.Errorf("%x came back as %x, %v", planes, got, d.Err)
		}
	}
	_, _, err := CountBoards(&[encoding.NumMasks]uint64{14: 6, 18: 12})
	if err == nil || err.Error() != "two men on square 2 of history board 1" {
		t.Error(err)
	}
}

// TestEachEnds: the end of the items is their io.EOF itself. A failure that has one in
// its chain, as of a program that is gone, does not pass for it.
func TestEachEnds(t *testing.T) {
	gone := fmt.Errorf("the program is gone: %w", io.EOF)
	for _, c := range []struct{ end, want error }{{io.EOF, nil}, {gone, gone}} {
		for _, threads := range []int{1, 3} {
			items := []error{nil, nil, c.end}
			next := func(context.Context) (int, error) {
				err := items[0]
				items = items[1:]
				return 1, err
			}
			sum := 0
			err := MapOrdered(t.Context(), threads, next, func(_ context.Context, n int) (int, error) { return n, nil },
				func(_ context.Context, n int) error { sum += n; return nil })
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || c.want == nil && sum != 2 {
				t.Errorf("%d threads, end %v: %v, %d items", threads, c.end, err, sum)
			}
		}
	}
}
