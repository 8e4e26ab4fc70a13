package kernel

import (
	"fmt"
	"math"
	"testing"
)

var testChannels = []int{1, 3, 16, 17, 32, 48, 64, 112}

// convCases pairs every channel count with some others and a number of boards.
func convCases() (cases [][3]int) {
	boards := []int{1, 2, 3, 5}
	for i, ci := range testChannels {
		for j, co := range []int{1, 17, 32, 80, testChannels[(i+3)%len(testChannels)]} {
			if ci*co > 4000 && j != i%5 {
				continue // the float64 reference is slow
			}
			cases = append(cases, [3]int{ci, co, boards[(i+j)%4]})
		}
	}
	return cases
}

// tolSum is the tolerance of float32 sums against float64, relative to the sum
// of magnitudes: some 10 roundings' worth, while one lost term of a thousand
// would show as 1e-3.
const tolSum = 3e-6

// conv3Ref is the convolution in float64 and the sum of magnitudes of each
// output.
func conv3Ref(x, w, bias []float32, boards, ci, co int) (y, mag []float64) {
	y, mag = make([]float64, boards*64*co), make([]float64, boards*64*co)
	for i := range y {
		o, sq, b := i%co, i/co%64, i/co/64
		if bias != nil {
			y[i] = float64(bias[o])
		}
		for t := range 9 {
			r, f := sq/8+t/3-1, sq%8+t%3-1
			if r < 0 || r > 7 || f < 0 || f > 7 {
				continue
			}
			for c := range ci {
				p := float64(x[(b*64+r*8+f)*ci+c]) * float64(w[(o*ci+c)*9+t])
				y[i] += p
				mag[i] += math.Abs(p)
			}
		}
	}
	return y, mag
}

func reluRef(y []float64) []float64 {
	z := make([]float64, len(y))
	for i, v := range y {
		z[i] = max(0, v)
	}
	return z
}

func packedConv(w []float32, ci, co int, p Precision) []float32 {
	dst := poison(PackedConv3Len(ci, co, p))
	PackConv3(dst, w, ci, co, p)
	return dst
}

func TestConv3(t *testing.T) {
	rng := newRand(t)
	for _, s := range convCases() {
		ci, co, boards := s[0], s[1], s[2]
		x, w, bias := rng.floats(boards*64*ci), rng.floats(co*ci*9), rng.floats(co)
		want, mag := conv3Ref(x, w, bias, boards, ci, co)
		t.Run(fmt.Sprintf("%dx%dx%d", ci, co, boards), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				y := poison(len(want) + 1)
				packed, scratch := packedConv(w, ci, co, FP32), poison(Conv3ScratchLen(ci, co, FP32))
				Conv3(y, x, packed, bias, boards, ci, co, None, FP32, scratch)
				closeTo(t, "y", y[:len(want)], want, mag, tolSum)
				if y[len(want)] == y[len(want)] {
					t.Fatal("wrote past the end of y")
				}
				Conv3(y, x, packed, bias, boards, ci, co, ReLU, FP32, scratch)
				closeTo(t, "relu", y[:len(want)], reluRef(want), mag, tolSum)
				plain := poison(len(want))
				Conv3(plain, x, packed, nil, boards, ci, co, None, FP32, scratch)
				Conv3(y, x, packed, make([]float32, co), boards, ci, co, None, FP32, scratch)
				sameBits(t, "without bias", plain, y[:len(want)])
			})
		})
	}
}

// The data gradient's truth is the transpose of the forward map:
// <conv(x), dy> = <x, convT(dy)> for all x, so convT(dy)[i] is the reference
// forward at the unit vector i, summed against dy. It is checked at random i.
func TestConv3DataGradient(t *testing.T) {
	rng := newRand(t)
	for _, s := range [][3]int{{3, 5, 2}, {16, 32, 1}, {17, 48, 2}, {48, 16, 1}, {64, 80, 1}} {
		ci, co, boards := s[0], s[1], s[2]
		w, dy := rng.floats(co*ci*9), rng.floats(boards*64*co)
		forTiers(t, func(t *testing.T) {
			packed := poison(PackedConv3Len(co, ci, FP32))
			PackConv3Transposed(packed, w, ci, co, FP32)
			dx := poison(boards * 64 * ci)
			Conv3(dx, dy, packed, nil, boards, co, ci, None, FP32, poison(Conv3ScratchLen(co, ci, FP32)))
			for range 30 {
				i := rng.IntN(len(dx))
				unit := make([]float32, len(dx))
				unit[i] = 1
				y, mag := conv3Ref(unit, w, nil, boards, ci, co)
				want, m := 0.0, 0.0
				for j, v := range y {
					want += v * float64(dy[j])
					m += mag[j] * math.Abs(float64(dy[j]))
				}
				closeTo(t, "dx", dx[i:i+1], []float64{want}, []float64{m}, tolSum)
			}
		})
	}
}

func TestConv3WeightGrad(t *testing.T) {
	rng := newRand(t)
	for _, s := range convCases() {
		ci, co, boards := s[0], s[1], s[2]
		x, dy, start := rng.floats(boards*64*ci), rng.floats(boards*64*co), rng.floats(co*ci*9)
		want, mag := make([]float64, len(start)), make([]float64, len(start))
		for i := range want {
			want[i] = float64(start[i])
			o, c, tap := i/9/ci, i/9%ci, i%9
			for sq := range boards * 64 {
				r, f := sq%64/8+tap/3-1, sq%8+tap%3-1
				if r < 0 || r > 7 || f < 0 || f > 7 {
					continue
				}
				p := float64(dy[sq*co+o]) * float64(x[(sq/64*64+r*8+f)*ci+c])
				want[i] += p
				mag[i] += math.Abs(p)
			}
		}
		t.Run(fmt.Sprintf("%dx%dx%d", ci, co, boards), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				dw := append([]float32(nil), start...)
				Conv3WeightGrad(dw, x, dy, boards, ci, co, FP32, poison(Conv3WeightGradScratchLen(ci, co, FP32)))
				closeTo(t, "dw", dw, want, mag, tolSum)
			})
		})
	}
}

// A board's result is the same bits alone, in a batch, and at every place.
func TestConv3BatchInvariance(t *testing.T) {
	rng := newRand(t)
	const boards = 5
	for _, s := range [][2]int{{3, 17}, {64, 64}, {112, 48}, {32, 80}} {
		ci, co := s[0], s[1]
		x, bias := rng.floats(boards*64*ci), rng.floats(co)
		w := rng.floats(co * ci * 9)
		forTiers(t, func(t *testing.T) {
			packed, scratch := packedConv(w, ci, co, FP32), poison(Conv3ScratchLen(ci, co, FP32))
			all, one := poison(boards*64*co), poison(64*co)
			Conv3(all, x, packed, bias, boards, ci, co, ReLU, FP32, scratch)
			for b := range boards {
				Conv3(one, x[b*64*ci:], packed, bias, 1, ci, co, ReLU, FP32, scratch)
				sameBits(t, "board alone", one, all[b*64*co:][:64*co])
			}
		})
	}
}

func TestConv3PassesNaN(t *testing.T) {
	rng := newRand(t)
	const c = 16
	x, w := rng.floats(64*c), rng.floats(c*c*9)
	x[20*c+3] = float32(math.NaN())
	forTiers(t, func(t *testing.T) {
		y := make([]float32, 64*c)
		Conv3(y, x, packedConv(w, c, c, FP32), nil, 1, c, c, ReLU, FP32, make([]float32, Conv3ScratchLen(c, c, FP32)))
		for sq := range 64 {
			near := max(abs(sq/8-20/8), abs(sq%8-20%8)) <= 1
			// Transforms spread it over the tile of 4x4 squares.
			if nan := y[sq*c] != y[sq*c]; nan != near && (near || !winograd(c, c)) {
				t.Fatalf("square %d: NaN %v, want %v", sq, nan, near)
			}
		}
	})
}

func abs(a int) int { return max(a, -a) }

func TestConv3Mish(t *testing.T) {
	rng := newRand(t)
	x, w := rng.floats(64*3), rng.floats(4*3*9)
	want, mag := conv3Ref(x, w, nil, 1, 3, 4)
	for i, v := range want {
		want[i] = v * math.Tanh(math.Log1p(math.Exp(v)))
	}
	y := poison(len(want))
	Conv3(y, x, packedConv(w, 3, 4, FP32), nil, 1, 3, 4, Mish, FP32, make([]float32, Conv3ScratchLen(3, 4, FP32)))
	closeTo(t, "mish", y, want, mag, tolSum)
}
