package kernel

import (
	"fmt"
	"math"
	"testing"
)

// Conv3Sums gives Conv3's bits, and the sums per board that a float64 pass over
// them gives, with and without an activation.
func TestConv3Sums(t *testing.T) {
	rng := newRand(t)
	for _, s := range fewer([][3]int{{16, 32, 1}, {32, 48, 3}, {17, 33, 2}, {48, 16, 9}, {112, 80, 8}, {80, 112, 17}}) {
		ci, co, boards := s[0], s[1], s[2]
		x, w, bias := rng.floats(boards*64*ci), rng.floats(co*ci*9), rng.floats(co)
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				for _, p := range precisions() {
					packed, scratch := packedConv(w, ci, co, p), poison(Conv3ScratchLen(ci, co, p))
					for _, act := range []Act{None, ReLU} {
						y, plain := poison(boards*64*co), poison(boards*64*co)
						sum, squares := poison(boards*co), poison(boards*co)
						Conv3Sums(f32s(y), sum, squares, x, packed, bias, boards, ci, co, act, p, scratch)
						Conv3(plain, x, packed, bias, boards, ci, co, act, p, scratch)
						sameBits(t, "y", y, plain)
						want, mag, wantSq := make([]float64, boards*co), make([]float64, boards*co), make([]float64, boards*co)
						for i, v := range y {
							k := i/(64*co)*co + i%co
							want[k] += float64(v)
							mag[k] += math.Abs(float64(v))
							wantSq[k] += float64(v) * float64(v)
						}
						closeTo(t, "sum", sum, want, mag, tolSum)
						closeTo(t, "squares", squares, wantSq, nil, tolSum)
					}
				}
			})
		})
	}
}
