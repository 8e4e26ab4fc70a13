package kernels

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// The planes are those of package encoding and of the CPU's kernels, rounded.
func TestExpand(t *testing.T) {
	r := fresh(t)
	d, k, s := open(t)
	for _, boards := range []int{1, 5} {
		masks, scalars := make([][encoding.NumMasks]uint64, boards), make([]encoding.Scalars, boards)
		for b := range masks {
			for p := range masks[b] {
				masks[b][p] = r.Uint64() & r.Uint64()
			}
			bit := func() uint8 { return uint8(r.IntN(2)) }
			scalars[b] = encoding.Scalars{OurOOO: bit(), OurOO: bit(), TheirOOO: bit(), TheirOO: bit(), BlackToMove: bit(), Rule50: uint8(r.IntN(101))}
		}
		masks[0][0], masks[boards-1][103] = 1<<63|1, ^uint64(0)
		if size := binary.Size(scalars[0]); size != 6 {
			t.Fatalf("encoding.Scalars has %d bytes, the kernel reads 6", size)
		}
		want := make([]float32, boards*64*encoding.NumPlanes)
		kernel.ExpandInput(want, masks, scalars, boards)
		checkPlanes(t, want, masks, scalars)
		for _, typ := range types {
			a := ExpandArgs{Masks: uploadOf(t, d, s, masks), Scalars: uploadOf(t, d, s, scalars), Planes: alloc(t, d, len(want)*typ.Size()), Boards: int32(boards)}
			run(t, k, s, Expand(typ, a))
			got, want := download(t, s, typ, a.Planes, len(want)), rounded(typ, want)
			if !slices.Equal(got, want) {
				i := 0
				for got[i] == want[i] {
					i++
				}
				t.Errorf("%v: board %d square %d plane %d is %g, want %g", typ, i/64/112, i/112%64, i%112, got[i], want[i])
			}
		}
	}
}

// checkPlanes holds x [boards][64][112] against encoding.ExpandPlanes.
func checkPlanes(t *testing.T, x []float32, masks [][encoding.NumMasks]uint64, scalars []encoding.Scalars) {
	t.Helper()
	planes := make([]float32, encoding.NumPlanes*64)
	for b := range masks {
		encoding.ExpandPlanes(planes, &masks[b], &scalars[b])
		for i, v := range planes {
			if got := x[(b*64+i%64)*encoding.NumPlanes+i/64]; got != v {
				t.Fatalf("kernel.ExpandInput and encoding.ExpandPlanes differ: board %d plane %d square %d: %g, %g", b, i/64, i%64, got, v)
			}
		}
	}
}
