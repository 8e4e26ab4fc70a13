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
	masks[2][12] = ^uint64(0)
	x := poison(boards * 64 * encoding.NumPlanes)
	ExpandInput(x, masks, scalars, boards)
	for i, v := range x {
		b, sq, p := i/64/112, i/112%64, i%112
		s := scalars[b]
		var want float32
		switch {
		case p < 104:
			want = float32(masks[b][p] >> sq & 1)
		case p < 109:
			want = float32([]uint8{s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO, s.BlackToMove}[p-104])
		case p == 109:
			want = float32(s.Rule50) / 99
		case p == 111:
			want = 1
		}
		if v != want {
			t.Fatalf("board %d square %d plane %d = %g, want %g", b, sq, p, v, want)
		}
	}
}
