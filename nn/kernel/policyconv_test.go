package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// policyConvCase is boards with legal moves and what float64 says of their logits.
type policyConvCase struct {
	ci, boards int
	x, w, bias []float32
	conv       *[encoding.NumPolicy]uint16
	start      []int32
	legal      []uint16
}

// newPolicyConvCase draws boards of which one has no move, one has all and the
// others a few.
func newPolicyConvCase(rng testRand, ci, boards int) *policyConvCase {
	c := &policyConvCase{
		ci: ci, boards: boards, conv: encoding.ConvPolicyIndex(), start: []int32{0},
		x: rng.floats(boards * 64 * ci), w: rng.floats(encoding.NumConvPlanes * ci * 9), bias: rng.floats(encoding.NumConvPlanes),
	}
	for b := range boards {
		n := [...]int{30, 0, encoding.NumPolicy, 65, 1}[b%5]
		for _, p := range rng.Perm(encoding.NumPolicy)[:n] {
			c.legal = append(c.legal, uint16(p))
		}
		c.start = append(c.start, int32(len(c.legal)))
	}
	return c
}

// reference returns logits and their sums of magnitudes with factors x and w.
func (c *policyConvCase) reference(x, w []float32) (want, mag []float64) {
	for b := range c.boards {
		for _, m := range c.legal[c.start[b]:c.start[b+1]] {
			plane, from := int(c.conv[m]/64), int(c.conv[m]%64)
			sum, size := float64(c.bias[plane]), 0.0
			for t := range 9 {
				r, f := from/8+t/3-1, from%8+t%3-1
				if r < 0 || r > 7 || f < 0 || f > 7 {
					continue
				}
				for i := range c.ci {
					p := float64(x[(b*64+r*8+f)*c.ci+i]) * float64(w[(plane*c.ci+i)*9+t])
					sum += p
					size += math.Abs(p)
				}
			}
			want, mag = append(want, sum), append(mag, size)
		}
	}
	return want, mag
}

// run returns the logits of boards [lo, hi) in memory from mem.
func (c *policyConvCase) run(mem func(int) []float32, lo, hi int, p Precision) []float32 {
	packed, scratch := mem(PackedPolicyConvLen(c.ci, encoding.NumConvPlanes, p)), mem(PolicyConvScratchLen(c.ci, p))
	PackPolicyConv(packed, c.w, c.ci, encoding.NumConvPlanes, p)
	logits := mem(len(c.legal))
	PolicyConv(logits, c.x[lo*64*c.ci:], packed, c.bias, c.conv, c.start[lo:hi+1], c.legal, hi-lo, c.ci, p, scratch)
	return logits
}

func TestPolicyConv(t *testing.T) {
	rng := newRand(t)
	for _, ci := range []int{5, 16, 48, 64} {
		t.Run(fmt.Sprint(ci), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				c := newPolicyConvCase(rng, ci, 6)
				for _, p := range precisions() {
					x, w := c.x, c.w
					if p == BF16 && ci%32 == 0 {
						x, w = roundHalf(x), roundHalf(w)
					}
					want, mag := c.reference(x, w)
					all := c.run(poison, 0, c.boards, p)
					closeTo(t, p.String(), all, want, mag, tolSum)
					for b := range c.boards {
						one := c.run(poison, b, b+1, p)
						lo, hi := c.start[b], c.start[b+1]
						sameBits(t, "board alone", one[lo:hi], all[lo:hi])
					}
				}
			})
		})
	}
}

// A convolution in place is the one that is not.
func TestConv3InPlace(t *testing.T) {
	rng := newRand(t)
	forTiers(t, func(t *testing.T) {
		for _, c := range []int{16, 64, 80} {
			const boards = 11 // more than a group
			if !Conv3InPlace(c) {
				if ActiveTier() != Generic {
					t.Errorf("%d channels: not in place", c)
				}
				continue
			}
			x, w, bias := rng.floats(boards*64*c), rng.floats(9*c*c), rng.floats(c)
			for _, p := range precisions() {
				packed, scratch := poison(PackedConv3Len(c, c, p)), poison(Conv3ScratchLen(c, c, p))
				PackConv3(packed, w, c, c, p)
				want, got := poison(len(x)), append([]float32(nil), x...)
				Conv3(want, x, packed, bias, boards, c, c, Mish, p, scratch)
				Conv3(got, got, packed, bias, boards, c, c, Mish, p, scratch)
				sameBits(t, "y", got, want)
				sum, squares, s1, s2 := poison(boards*c), poison(boards*c), poison(boards*c), poison(boards*c)
				Conv3Sums(f32s(want), sum, squares, x, packed, bias, boards, c, c, ReLU, p, scratch)
				copy(got, x)
				Conv3Sums(f32s(got), s1, s2, got, packed, bias, boards, c, c, ReLU, p, scratch)
				sameBits(t, "y", got, want)
				sameBits(t, "sums", s1, sum)
				sameBits(t, "squares", s2, squares)
			}
		}
	})
}
