package kernels

import (
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// packCase is a tensor of weights in nn's order.
type packCase struct {
	co, ci, taps, channels int
	backward               bool
	bySquare               int32
	w                      []float32
}

// padded returns the sizes of the packed weights.
func (c *packCase) padded() (co, ci int) {
	if c.channels > 0 {
		return Pad(c.co), 64 * Pad(c.channels)
	}
	return Pad(c.co), Pad(c.ci)
}

// want packs in Go: each weight goes to its place, all else is 0.
func (c *packCase) want() (forward, backward []float32) {
	co, ci := c.padded()
	forward, backward = make([]float32, c.taps*co*ci), make([]float32, c.taps*co*ci)
	for n, v := range c.w {
		o, i, tap := n/c.taps/c.ci, n/c.taps%c.ci, n%c.taps
		if c.channels > 0 {
			if square, channel := i%64, i/64; c.bySquare == 0 {
				i = square*Pad(c.channels) + channel
			} else {
				i = i/c.channels*Pad(c.channels) + i%c.channels
			}
		}
		forward[(tap*co+o)*ci+i] = v
		backward[((c.taps-1-tap)*ci+i)*co+o] = v
	}
	return forward, backward
}

// One launch packs convolutions, products and layers after flattened activations.
func TestPack(t *testing.T) {
	r := fresh(t)
	cases := []*packCase{
		{co: 80, ci: 24, taps: 9, backward: true}, {co: 16, ci: 112, taps: 9}, {co: 8, ci: 40, taps: 1, backward: true},
		{co: 3, ci: 128, taps: 1, backward: true}, {co: 20, ci: 64 * 20, taps: 1, channels: 20, backward: true}, {co: 5, ci: 64 * 8, taps: 1, channels: 8},
		{co: 20, ci: 64 * 20, taps: 1, channels: 20, bySquare: 1, backward: true},
	}
	longest := 0
	for _, c := range cases {
		c.w = normal(r, c.co*c.ci*c.taps, 1)
		longest = max(longest, len(c.w))
	}
	for _, typ := range types {
		for _, longest := range []int{1, longest} { // one block an entry, and several
			eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
				entries := make([]PackEntry, len(cases))
				for n, c := range cases {
					co, ci := c.padded()
					size := co * ci * c.taps * typ.Size()
					e := PackEntry{W: upload(t, d, s, F32, c.w), Forward: alloc(t, d, size), Co: int32(c.co), Ci: int32(c.ci), Taps: int32(c.taps), Channels: int32(c.channels), BySquare: c.bySquare}
					if c.backward {
						e.Backward = alloc(t, d, size)
					}
					entries[n] = e
				}
				var raw []byte
				for i := range entries {
					raw = append(raw, bytesOf(&entries[i])...)
				}
				run(t, k, s, Pack(typ, PackArgs{Entries: uploadBytes(t, d, s, raw), Count: int32(len(cases))}, longest))
				for n, c := range cases {
					forward, backward := c.want()
					if got := download(t, s, typ, entries[n].Forward, len(forward)); !slices.Equal(got, rounded(typ, forward)) {
						t.Errorf("%v: entry %d (%dx%d, %d taps): forward weights are wrong", typ, n, c.co, c.ci, c.taps)
					}
					if !c.backward {
						continue
					}
					if got := download(t, s, typ, entries[n].Backward, len(backward)); !slices.Equal(got, rounded(typ, backward)) {
						t.Errorf("%v: entry %d (%dx%d, %d taps): backward weights are wrong", typ, n, c.co, c.ci, c.taps)
					}
				}
			})
		}
	}
}
