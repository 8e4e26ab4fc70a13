package kernel

import (
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

func TestExpandInput(t *testing.T) {
	rng := newRand(t)
	const boards = 3
	masks := make([][encoding.NumMasks]uint64, boards)
	scalars := make([]encoding.Scalars, boards)
	for b := range masks {
		for p := range masks[b] {
			masks[b][p] = rng.Uint64() & rng.Uint64()
		}
		bit := func() uint8 { return uint8(rng.IntN(2)) }
		scalars[b] = encoding.Scalars{OurOOO: bit(), OurOO: bit(), TheirOOO: bit(), TheirOO: bit(),
			BlackToMove: bit(), Rule50: uint8(rng.IntN(101))}
	}
	masks[2][12], masks[2][103] = ^uint64(0), 1<<63|1
	scalars[1].Rule50 = 0
	const size = boards * 64 * encoding.NumPlanes
	forTiers(t, func(t *testing.T) {
		x := poison(size + 1)
		ExpandInput(x, masks, scalars, boards)
		if v := x[size]; v == v {
			t.Fatal("wrote past the end")
		}
		for i, v := range x[:size] {
			if want := planeAt(masks, scalars, i); v != want {
				t.Fatalf("board %d square %d plane %d = %g, want %g", i/64/112, i/112%64, i%112, v, want)
			}
		}
	})
}

// planeAt returns element i of the input [boards][64][112].
func planeAt(masks [][encoding.NumMasks]uint64, scalars []encoding.Scalars, i int) float32 {
	b, sq, p := i/64/112, i/112%64, i%112
	s := scalars[b]
	switch {
	case p < 104:
		return float32(masks[b][p] >> sq & 1)
	case p < 109:
		return float32([]uint8{s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO, s.BlackToMove}[p-104])
	case p == 109:
		return float32(s.Rule50) / 99
	case p == 111:
		return 1
	}
	return 0
}
