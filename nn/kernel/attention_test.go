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

// The gradients of one head among others against float64, and the part of the forward pass
// that they need again.
func TestAttendHeadBackward(t *testing.T) {
	forTiers(t, func(t *testing.T) {
		rng := newRand(t)
		for _, depth := range []int{5, 16, 40, 48} {
			c := newHeadCase(rng, depth)
			stride, yStride, at := c.stride, c.yStride, c.depth
			dq, dk, dv, dp := poison(64*stride), poison(64*stride), poison(64*stride), poison(64*64)
			AttendHeadBackward(dq[at:], dk[at:], dv[at:], dp, c.p, c.q[at:], c.k[at:], c.v[at:], stride, c.dy[at:], yStride, depth, poison(AttendScratchLen(depth)))
			y := poison(64 * yStride)
			WeighHead(y[at:], yStride, c.p, c.v[at:], stride, depth, poison(AttendScratchLen(depth)))

			dz := make([]float64, 64*64)
			for from := range 64 {
				sum, row := 0.0, dz[from*64:][:64]
				for to := range row {
					for i := range depth {
						row[to] += float64(c.dy[from*yStride+at+i]) * float64(c.v[to*stride+at+i])
					}
					sum += row[to] * float64(c.p[from*64+to])
				}
				for to := range row {
					row[to] = float64(c.p[from*64+to]) * (row[to] - sum)
				}
			}
			closeTo(t, "dp", dp, dz, nil, 1e-5)
			c.check(t, "dq", dq, stride, func(sq, other, i int) float64 { return dz[sq*64+other] * float64(c.k[other*stride+at+i]) })
			c.check(t, "dk", dk, stride, func(sq, other, i int) float64 { return dz[other*64+sq] * float64(c.q[other*stride+at+i]) })
			c.check(t, "dv", dv, stride, func(sq, other, i int) float64 {
				return float64(c.p[other*64+sq]) * float64(c.dy[other*yStride+at+i])
			})
			c.check(t, "y", y, yStride, func(sq, other, i int) float64 {
				return float64(c.p[sq*64+other]) * float64(c.v[other*stride+at+i])
			})
		}
	})
}

// headCase is the second of three heads. p are weights whose rows add up to 1.
type headCase struct {
	depth, stride, yStride int
	q, k, v, dy, p         []float32
}

func newHeadCase(rng testRand, depth int) *headCase {
	c := &headCase{depth: depth, stride: 3*depth + 1, yStride: 3*depth + 4, p: rng.floats(64 * 64)}
	c.q, c.k, c.v, c.dy = rng.floats(64*c.stride), rng.floats(64*c.stride), rng.floats(64*c.stride), rng.floats(64*c.yStride)
	SoftmaxRows(c.p, 64, 64)
	return c
}

// check holds the head's numbers of got against the sum of term over other squares, and
// wants all others to be NaN still.
func (c *headCase) check(t *testing.T, what string, got []float32, stride int, term func(sq, other, i int) float64) {
	t.Helper()
	for sq := range 64 {
		want := make([]float64, c.depth)
		for i := range want {
			for other := range 64 {
				want[i] += term(sq, other, i)
			}
		}
		row := got[sq*stride:][:stride]
		closeTo(t, what, row[c.depth:2*c.depth], want, nil, 1e-5)
		for i, v := range row {
			if (i < c.depth || i >= 2*c.depth) && v == v {
				t.Fatalf("%s: another head's number %d has changed", what, i)
			}
		}
	}
}
