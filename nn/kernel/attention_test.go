package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// One head among others, with and without what is added, against float64.
func TestAttendHead(t *testing.T) {
	forTiers(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 5))
		floats := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			return x
		}
		for _, depth := range []int{5, 16, 48} {
			const heads, head = 3, 1
			stride, yStride := heads*depth, heads*depth+4
			q, k, v, extra := floats(64*stride), floats(64*stride), floats(64*stride), floats(64*64)
			for _, added := range [][]float32{nil, extra} {
				y, p, at := floats(64*yStride), floats(64*64), head*depth
				untouched := y[at-1]
				AttendHead(y[at:], yStride, p, q[at:], k[at:], v[at:], stride, depth, 0.5, added, floats(AttendScratchLen(depth)))
				for from := range 64 {
					weights, sum := make([]float64, 64), 0.0
					for to := range weights {
						for i := range depth {
							weights[to] += 0.5 * float64(q[from*stride+at+i]) * float64(k[to*stride+at+i])
						}
						if added != nil {
							weights[to] += float64(added[from*64+to])
						}
						weights[to] = math.Exp(weights[to])
						sum += weights[to]
					}
					for i := range depth {
						want := 0.0
						for to, w := range weights {
							want += w / sum * float64(v[to*stride+at+i])
						}
						if got := float64(y[from*yStride+at+i]); math.Abs(got-want) > 1e-4 {
							t.Fatalf("depth %d, square %d, %d: %v, want %v", depth, from, i, got, want)
						}
					}
				}
				if y[at-1] != untouched {
					t.Error("another head's numbers have changed")
				}
			}
		}
	})
}
