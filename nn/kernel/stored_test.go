package kernel

import (
	"fmt"
	"math"
	"testing"
)

// halves returns n normal numbers in bf16 and the same as float32.
func (r testRand) halves(n int) (Stored, []float32) {
	h, wide := make([]Half, n+1)[1:], r.floats(n)
	for i, v := range wide {
		h[i] = halfOf(v)
		wide[i] = h[i].Float()
	}
	return Stored{BF16: h}, wide
}

// poisonHalves returns n NaN.
func poisonHalves(n int) Stored {
	h := make([]Half, n+3)[3:]
	for i := range h {
		h[i] = halfOf(float32(math.NaN()))
	}
	return Stored{BF16: h}
}

// TestHalfRounds: to the nearest bf16, ties to even; infinities and NaN stay.
func TestHalfRounds(t *testing.T) {
	for _, c := range []struct{ v, want float32 }{
		{1, 1}, {-2.5, -2.5}, {0, 0},
		{1 + 1.0/256, 1}, {1 + 3.0/256, 1 + 4.0/256}, // ties
		{1 + 1.0/256 + 1.0/4096, 1 + 2.0/256},
		{float32(math.Inf(1)), float32(math.Inf(1))},
		{math.MaxFloat32, float32(math.Inf(1))},
	} {
		if got := halfOf(c.v).Float(); got != c.want {
			t.Errorf("%g becomes %g, want %g", c.v, got, c.want)
		}
	}
	if got := halfOf(float32(math.NaN())).Float(); got == got {
		t.Errorf("NaN becomes %g", got)
	}
}

// TestStoredPasses: over bf16 numbers every pass gives what it gives over the same
// numbers in float32, which other tests hold against float64: the same bits where
// both are vector kernels, and else within rounding.
func TestStoredPasses(t *testing.T) {
	rng := newRand(t)
	for i, c := range append(testChannels, 144, 256) {
		boards := []int{1, 2, 3}[i%3]
		t.Run(fmt.Sprintf("%dx%d", boards, c), func(t *testing.T) {
			forTiers(t, func(t *testing.T) { checkStoredPasses(t, rng, boards, c) })
		})
	}
}

func checkStoredPasses(t *testing.T, rng testRand, boards, c int) {
	rows := boards * 64
	n := rows * c
	half, wide := rng.halves(n)
	u, res, out := rng.floats(n), rng.floats(n), rng.floats(n)
	a, b, d := rng.floats(boards*c), rng.floats(boards*c), rng.floats(c)
	type result struct {
		lists [][]float32
		sums  [][]float64
	}
	run := func(x Stored) (r result) {
		floats := func(n int) []float32 {
			r.lists = append(r.lists, poison(n))
			return r.lists[len(r.lists)-1]
		}
		sums := func() []float64 {
			r.sums = append(r.sums, make([]float64, c))
			return r.sums[len(r.sums)-1]
		}
		for _, act := range []Act{None, ReLU, Mish} {
			BatchNormApply(floats(n), x, a[:c], b[:c], nil, rows, c, act)
			BatchNormApply(floats(n), x, a[:c], b[:c], res, rows, c, act)
			SEApply(floats(n), x, a, b, res, boards, c, act)
		}
		SEApply(floats(n), x, a, b, nil, boards, c, None)
		s1, s2 := sums(), sums()
		BatchNormBackwardStats(s1, s2, u, x, d, a[:c], rows, c)
		BatchNormBackward(floats(n), u, x, d, a[:c], b[:c], s1, s2, rows, rows, c)
		BatchNormReLUBackwardStats(sums(), sums(), floats(n), u, out, x, d, a[:c], rows, c)
		for _, act := range []Act{None, ReLU} {
			SEBackward(floats(n), floats(boards*c), floats(boards*c), u, out, x, boards, c, act)
		}
		return r
	}
	got, want := run(half), run(Stored{F32: wide})
	exact := half.vectors(c) || ActiveTier() == Generic || c%panel != 0
	for i, w := range want.lists {
		if exact {
			sameBits(t, fmt.Sprint("list ", i), got.lists[i], w)
		}
		closeTo(t, fmt.Sprint("list ", i), got.lists[i], widen(w), nil, 2e-5)
	}
	for i, w := range want.sums {
		near(t, fmt.Sprint("sums ", i), got.sums[i], w, float64(rows), 1e-5)
	}
}

// TestConv3SumsStored: convolutions that store bf16 give the rounded numbers of
// those that do not, and their sums.
func TestConv3SumsStored(t *testing.T) {
	rng := newRand(t)
	stored, can := false, false // in any tier of this machine
	for _, s := range [][3]int{{16, 32, 1}, {32, 48, 3}, {48, 16, 9}, {112, 80, 8}, {80, 112, 17}, {17, 33, 2}} {
		ci, co, boards := s[0], s[1], s[2]
		x, w := rng.floats(boards*64*ci), rng.floats(co*ci*9)
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				n := boards * 64 * co
				can = can || HasBF16()
				for _, p := range precisions() {
					packed, scratch := packedConv(w, ci, co, p), poison(Conv3ScratchLen(ci, co, p))
					plain, plainSum, plainSquares := poison(n), poison(boards*co), poison(boards*co)
					Conv3Sums(f32s(plain), plainSum, plainSquares, x, packed, nil, boards, ci, co, None, p, scratch)
					for _, y := range []Stored{{F32: poison(n)}, poisonHalves(n)} {
						if y.half() && (p != BF16 || !StoresBF16(ci, co)) {
							continue
						}
						sum, squares := poison(boards*co), poison(boards*co)
						Conv3Sums(y, sum, squares, x, packed, nil, boards, ci, co, None, p, scratch)
						sameBits(t, "sum", sum, plainSum)
						sameBits(t, "squares", squares, plainSquares)
						for i, v := range plain {
							if y.half() {
								stored, v = true, halfOf(v).Float()
							}
							if got := y.float(i); got != v {
								t.Fatalf("y[%d] = %g, want %g", i, got, v)
							}
						}
					}
				}
			})
		})
	}
	if stored != can {
		t.Errorf("bf16 was stored: %v, the CPU has it: %v", stored, can)
	}
}

// TestConv3SumsStoredRefuses: bf16 where the convolution does not store it is a
// programmer's bug.
func TestConv3SumsStoredRefuses(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Conv3Sums(poisonHalves(64), make([]float32, 1), make([]float32, 1), make([]float32, 64), nil, nil, 1, 1, 1, None, FP32, nil)
}

// halfOf rounds to the nearest bf16, ties to even.
func halfOf(v float32) Half { return Half(halfBits(v)) }
