package kernel

import (
	"fmt"
	"math"
	"testing"
)

// winogradChannels and winogradBoards are odd numbers of panels and of groups,
// whose last ones are not full.
var (
	winogradChannels = []int{16, 48, 80, 112}
	winogradBoards   = []int{1, 3, 8, 9, 33}
)

// Tolerances of Winograd convolutions.
const (
	// tolModel is that of the float32 sums and output transforms alone, relative to
	// the transformed magnitudes, against a model with the same factors. Roundings
	// of 6e-8 partly cancel: 6e-8 was seen. A factor on the wrong side of a bf16 tie
	// would show as 4e-3 of one product, some 1e-5 of all magnitudes.
	tolModel = 2e-7
	// rmsHalf bounds the root mean square error of bf16 convolutions and gradients
	// against exact ones, as a share of the result's: factors are rounded by 2^-8 at
	// most, and the transforms multiply that. 1.2 to 1.5 % were seen.
	rmsHalf = 0.017
	// rmsFloat is the same for fp32; 1.3e-7 to 1.2e-6 were seen.
	rmsFloat = 3e-6
)

func rmsOf(p Precision) float64 {
	if p.here() == BF16 {
		return rmsHalf
	}
	return rmsFloat
}

// eachWinograd runs f for all pairs of a number of input channels and a number
// of boards, with output channels that vary.
func eachWinograd(t *testing.T, f func(t *testing.T, rng testRand, boards, ci, co int)) {
	rng := newRand(t)
	for i, ci := range winogradChannels {
		for j, boards := range winogradBoards {
			co := winogradChannels[(i+j)%len(winogradChannels)]
			t.Run(fmt.Sprintf("%dx%dx%d", ci, co, boards), func(t *testing.T) { f(t, rng, boards, ci, co) })
		}
	}
}

// rmsWithin fails where got, sampled, is off by more than limit: sample returns
// the exact value of an index.
func rmsWithin(t *testing.T, rng testRand, what string, got []float32, limit float64, sample func(i int) float64) {
	t.Helper()
	const samples = 1500
	diff, size := 0.0, 0.0
	for range samples {
		i := rng.IntN(len(got))
		want := sample(i)
		d := float64(got[i]) - want
		diff += d * d
		size += want * want
	}
	if e := math.Sqrt(diff / size); !(e <= limit) {
		t.Errorf("%s: root mean square error %.3g of the result's, limit %g", what, e, limit)
	}
}

// convAt is an output of the exact convolution, tap(o, i, t) its weights.
func convAt(x []float32, ci, co, at int, tap func(o, i, t int) float32) float64 {
	o, sq, b := at%co, at/co%64, at/co/64
	y := 0.0
	for t := range 9 {
		r, f := sq/8+t/3-1, sq%8+t%3-1
		if r < 0 || r > 7 || f < 0 || f > 7 {
			continue
		}
		for c := range ci {
			y += float64(x[(b*64+r*8+f)*ci+c]) * float64(tap(o, c, t))
		}
	}
	return y
}

// gradAt is an element of the exact weight gradient.
func gradAt(x, dy []float32, boards, ci, co, at int) float64 {
	o, c, tap := at/9/ci, at/9%ci, at%9
	g := 0.0
	for sq := range boards * 64 {
		r, f := sq%64/8+tap/3-1, sq%8+tap%3-1
		if r < 0 || r > 7 || f < 0 || f > 7 {
			continue
		}
		g += float64(dy[sq*co+o]) * float64(x[(sq/64*64+r*8+f)*ci+c])
	}
	return g
}

// The model without rounding is the exact convolution and its weight gradient,
// to float64's precision.
func TestWinogradModel(t *testing.T) {
	rng := newRand(t)
	const boards, ci, co = 2, 3, 5
	x, dy, w := rng.floats(boards*64*ci), rng.floats(boards*64*co), rng.floats(co*ci*9)
	tap := func(o, i, t int) float32 { return w[(o*ci+i)*9+t] }
	v := modelTiles(x, boards, ci, -1, 6, false)
	y, mag := modelConv(v, modelKernel(ci, co, false, tap), boards, ci, co)
	for i := range y {
		if want := convAt(x, ci, co, i, tap); !(math.Abs(y[i]-want) <= 1e-13*mag[i]) {
			t.Fatalf("y[%d] = %g, want %g", i, y[i], want)
		}
	}
	g, mag := modelGrad(v, modelTiles(dy, boards, co, 0, 4, false), boards*4, ci, co)
	for i := range g {
		if want := gradAt(x, dy, boards, ci, co, i); !(math.Abs(g[i]-want) <= 1e-13*mag[i]) {
			t.Fatalf("g[%d] = %g, want %g", i, g[i], want)
		}
	}
}

// withinModel fails unless got is want within tolModel of the magnitudes.
func withinModel(t *testing.T, what string, got []float32, want, mag []float64) {
	t.Helper()
	for i, g := range got {
		if d := math.Abs(float64(g) - want[i]); !(d <= tolModel*mag[i]) {
			t.Fatalf("%s[%d] = %g, want %g: off by %.3g of the magnitudes %g", what, i, g, want[i], d/mag[i], mag[i])
		}
	}
}

// forBF16 runs f in every tier of this machine that has bf16 products.
func forBF16(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if !HasBF16() {
		t.Skip("SKIPPED: this CPU has no bf16 products")
	}
	forTiers(t, func(t *testing.T) {
		if HasBF16() {
			f(t)
		}
	})
}

// bf16 convolutions are those of the model, whose factors are rounded as the
// kernels round them; all precisions are near the exact ones.
func TestWinogradForward(t *testing.T) {
	eachWinograd(t, func(t *testing.T, rng testRand, boards, ci, co int) {
		x, w := rng.floats(boards*64*ci), rng.floats(co*ci*9)
		checkWinograd(t, rng, x, boards, ci, co,
			func(packed []float32, p Precision) { PackConv3(packed, w, ci, co, p) },
			func(o, i, t int) float32 { return w[(o*ci+i)*9+t] })
	})
}

// The data gradient is a convolution with the kernel turned by 180 degrees and
// the channels exchanged: w is [ci][co][3][3] here.
func TestWinogradDataGradient(t *testing.T) {
	eachWinograd(t, func(t *testing.T, rng testRand, boards, ci, co int) {
		dy, w := rng.floats(boards*64*ci), rng.floats(co*ci*9)
		checkWinograd(t, rng, dy, boards, ci, co,
			func(packed []float32, p Precision) { PackConv3Transposed(packed, w, co, ci, p) },
			func(o, i, t int) float32 { return w[(i*co+o)*9+8-t] })
	})
}

func checkWinograd(t *testing.T, rng testRand, x []float32, boards, ci, co int, pack func([]float32, Precision), tap func(o, i, t int) float32) {
	var want, mag []float64
	forTiers(t, func(t *testing.T) {
		for _, p := range precisions() {
			packed, scratch := poison(PackedConv3Len(ci, co, p)), poison(Conv3ScratchLen(ci, co, p))
			y := poison(boards*64*co + 1)
			pack(packed, p)
			Conv3(y, x, packed, nil, boards, ci, co, None, p, scratch)
			if end := y[boards*64*co]; end == end {
				t.Fatal("wrote past the end of y")
			}
			y = y[:boards*64*co]
			rmsWithin(t, rng, p.String(), y, rmsOf(p), func(i int) float64 { return convAt(x, ci, co, i, tap) })
			if p == BF16 && !direct(ci, co, p) {
				if want == nil {
					want, mag = modelConv(modelTiles(x, boards, ci, -1, 6, true), modelKernel(ci, co, true, tap), boards, ci, co)
				}
				withinModel(t, "y", y, want, mag)
			}
		}
	})
}

func TestWinogradWeightGrad(t *testing.T) {
	eachWinograd(t, func(t *testing.T, rng testRand, boards, ci, co int) {
		x, dy := rng.floats(boards*64*ci), rng.floats(boards*64*co)
		var want, mag []float64
		forTiers(t, func(t *testing.T) {
			for _, p := range precisions() {
				dw := make([]float32, co*ci*9)
				Conv3WeightGrad(dw, x, dy, boards, ci, co, p, poison(Conv3WeightGradScratchLen(ci, co, p)))
				rmsWithin(t, rng, p.String(), dw, rmsOf(p), func(i int) float64 { return gradAt(x, dy, boards, ci, co, i) })
				if p == BF16 && !direct(ci, co, p) {
					if want == nil {
						want, mag = modelGrad(modelTiles(x, boards, ci, -1, 6, true), modelTiles(dy, boards, co, 0, 4, true), boards*4, ci, co)
					}
					withinModel(t, "dw", dw, want, mag)
				}
			}
		})
	})
}
