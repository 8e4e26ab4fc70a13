package kernels

import (
	"math"
	"testing"
)

// reduceCase is an addition of parts.
type reduceCase struct {
	splits, taps, realCo, realCi, channels int // channels > 0: real, and realCi = 64*channels
	bySquare, accumulate                   int32
}

// source returns where weight o, i, tap of nn's order lies in a part, and padded co, ci.
func (c reduceCase) source(o, i, tap int) (at, co, ci int) {
	co, ci = Pad(c.realCo), Pad(c.realCi)
	if c.channels > 0 {
		padded := Pad(c.channels)
		if square, channel := i%64, i/64; c.bySquare == 0 {
			i = square*padded + channel
		} else {
			i = i/c.channels*padded + i%c.channels
		}
		ci = 64 * padded
	}
	return (tap*co+o)*ci + i, co, ci
}

func TestWgradReduce(t *testing.T) {
	r := fresh(t)
	d, k, s := open(t)
	for _, c := range []reduceCase{
		{splits: 1, taps: 9, realCo: 3, realCi: 5}, {splits: 4, taps: 9, realCo: 20, realCi: 112, accumulate: 1}, {splits: 23, taps: 9, realCo: 16, realCi: 32},
		{splits: 2, taps: 1, realCo: 3, realCi: 128, accumulate: 1}, {splits: 70, taps: 1, realCo: 18, realCi: 90}, {splits: 2, taps: 1, realCo: 16, realCi: 80},
		{splits: 1, taps: 1, realCo: 2, realCi: 64 * 8, channels: 8}, {splits: 5, taps: 1, realCo: 3, realCi: 64 * 20, channels: 20, accumulate: 1},
		{splits: 2, taps: 1, realCo: 3, realCi: 64 * 20, channels: 20, bySquare: 1, accumulate: 1},
	} {
		_, co, ci := c.source(0, 0, 0)
		size, weights := c.taps*co*ci, c.realCo*c.realCi*c.taps
		part := make([]float32, c.splits*size)
		for i := range part {
			part[i] = float32(math.NaN()) // padding must not be read into the gradient
		}
		grad := normal(r, weights, 1)
		want, largest := make([]float64, weights), 0.
		for w := range want {
			if c.accumulate != 0 {
				want[w] = float64(grad[w])
			}
			sum := math.Abs(want[w]) // of sizes
			at, _, _ := c.source(w/c.taps/c.realCi, w/c.taps%c.realCi, w%c.taps)
			for n := range c.splits {
				v := float32(r.NormFloat64())
				part[n*size+at] = v
				want[w] += float64(v)
				sum += math.Abs(float64(v))
			}
			largest = max(largest, sum)
		}
		if c.accumulate == 0 {
			grad[0] = float32(math.Inf(1)) // overwritten
		}
		a := WgradReduceArgs{Part: upload(t, d, s, F32, part), Grad: upload(t, d, s, F32, grad), Splits: int32(c.splits), Taps: int32(c.taps),
			Co: int32(co), Ci: int32(ci), RealCo: int32(c.realCo), RealCi: int32(c.realCi), Accumulate: c.accumulate}
		if c.channels > 0 {
			a.Channels, a.RealChannels, a.BySquare = int32(Pad(c.channels)), int32(c.channels), c.bySquare
		}
		run(t, k, s, WgradReduce(a))
		// no sum on the way is larger than largest, and each of splits+1 is rounded
		near(t, "gradient", download(t, s, F32, a.Grad, weights), want, math.Exp2(-24)*float64(c.splits+1)*largest, 0)
	}
}

// The splits must not be more than there are stages of rows, never fall as rows
// rise (buffers are made for the most rows) and keep the multiprocessors busy, unless
// adding up more parts would cost more than it gains.
func TestWgradSplits(t *testing.T) {
	for _, typ := range types {
		for _, sms := range []int{20, 82, 108, 132} {
			for _, shape := range [][3]int{
				{9, 112, 64}, {9, 32, 32}, {9, 64, 64}, {9, 128, 128}, {9, 256, 256}, {9, 256, 80}, {9, 640, 640}, {1, 256, 32}, {1, 2048, 128}, {1, 128, 16},
			} {
				last := 0
				for rows := 1; rows <= 4096*64; rows = rows*5/4 + 1 {
					n := WgradSplits(typ, shape[0], rows, shape[1], shape[2], sms)
					if n < max(1, last) || n > (rows+63)/64 {
						t.Fatalf("%v %v, %d rows, %d multiprocessors: %d splits after %d", typ, shape, rows, sms, n, last)
					}
					last = n
				}
				w := wgradTileOf(typ, shape[0], shape[1], shape[2])
				slots, blocks := sms*w.blocks, last*w.count(shape[1], shape[2])
				if shape[0] == 9 && float64(blocks) < 0.7*float64(ceil(blocks, slots)*slots) {
					t.Errorf("%v %v, 4096 boards, %d multiprocessors: %d blocks for %d places", typ, shape, sms, blocks, slots)
				}
			}
		}
	}
}
