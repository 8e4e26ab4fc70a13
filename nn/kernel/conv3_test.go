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
		var at [30]int
		var want, mag [len(at)]float64
		for k := range at {
			at[k] = rng.IntN(boards * 64 * ci)
			unit := make([]float32, 64*ci)
			unit[at[k]%len(unit)] = 1
			y, magnitudes := conv3Ref(unit, w, nil, 1, ci, co)
			for j, v := range y {
				d := float64(dy[at[k]/len(unit)*64*co+j])
				want[k] += v * d
				mag[k] += magnitudes[j] * math.Abs(d)
			}
		}
		forTiers(t, func(t *testing.T) {
			packed := poison(PackedConv3Len(co, ci, FP32))
			PackConv3Transposed(packed, w, ci, co, FP32)
			dx := poison(boards * 64 * ci)
			Conv3(dx, dy, packed, nil, boards, co, ci, None, FP32, poison(Conv3ScratchLen(co, ci, FP32)))
			var got [len(at)]float32
			for k, i := range at {
				got[k] = dx[i]
			}
			closeTo(t, "dx", got[:], want[:], mag[:], tolSum)
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
	const boards = 19 // two groups and a part
	for _, s := range fewer([][2]int{{3, 17}, {16, 16}, {64, 64}, {32, 80}, {112, 48}}) {
		ci, co := s[0], s[1]
		x, bias := rng.floats(boards*64*ci), rng.floats(co)
		w := rng.floats(co * ci * 9)
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				for _, p := range precisions() {
					packed, scratch := packedConv(w, ci, co, p), poison(Conv3ScratchLen(ci, co, p))
					all, part := poison(boards*64*co), poison(boards*64*co)
					Conv3(all, x, packed, bias, boards, ci, co, ReLU, p, scratch)
					for first := 0; first < boards; {
						n := 1 + rng.IntN(boards-first)
						if rng.IntN(2) == 0 {
							n = 1
						}
						Conv3(part, x[first*64*ci:], packed, bias, n, ci, co, ReLU, p, scratch)
						sameBits(t, fmt.Sprintf("%s, %d boards from %d", p, n, first), part[:n*64*co], all[first*64*co:])
						first += n
					}
				}
			})
		})
	}
}

// A weight gradient has the same bits however its boards are handed over, and
// whatever was in the scratch.
func TestConv3WeightGradDivisions(t *testing.T) {
	rng := newRand(t)
	for _, s := range fewer([][3]int{{3, 17, 5}, {64, 32, 32}, {16, 80, 13}, {48, 48, 1}, {112, 16, 31}}) {
		ci, co, boards := s[0], s[1], s[2]
		x, dy := rng.floats(boards*64*ci), rng.floats(boards*64*co)
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				for _, p := range precisions() {
					taps := func(part func(left int) int) []float32 {
						scratch, taps := poison(Conv3WeightGradScratchLen(ci, co, p)), poison(9*co*ci)
						for first := 0; first < boards; {
							n := part(boards - first)
							Conv3WeightGradAdd(scratch, x[first*64*ci:], dy[first*64*co:], first, n, ci, co, p)
							first += n
						}
						Conv3WeightGradSum(taps, scratch, boards, ci, co, p)
						return taps
					}
					want := taps(func(left int) int { return left })
					sameBits(t, p.String()+" one by one", taps(func(int) int { return 1 }), want)
					sameBits(t, p.String()+" any", taps(func(left int) int { return 1 + rng.IntN(left) }), want)
					dw, sum := make([]float32, co*ci*9), make([]float32, co*ci*9)
					Conv3WeightGrad(dw, x, dy, boards, ci, co, p, poison(Conv3WeightGradScratchLen(ci, co, p)))
					AddConv3Taps(sum, want, ci, co)
					sameBits(t, p.String()+" in one call", dw, sum)
				}
			})
		})
	}
}

// NaN and infinities make their neighbourhood not finite and leave the boards
// beside theirs as they are.
func TestConv3NotFinite(t *testing.T) {
	rng := newRand(t)
	const boards, bad, square, channel = 3, 1, 20, 5
	for _, s := range [][2]int{{16, 32}, {48, 16}, {17, 9}} {
		ci, co := s[0], s[1]
		clean, w := rng.floats(boards*64*ci), rng.floats(co*ci*9)
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			x := append([]float32(nil), clean...)
			x[(bad*64+square)*ci+channel] = float32(v)
			t.Run(fmt.Sprint(s, v), func(t *testing.T) {
				forTiers(t, func(t *testing.T) {
					for _, p := range precisions() {
						packed, scratch := packedConv(w, ci, co, p), make([]float32, Conv3ScratchLen(ci, co, p))
						y, want := poison(boards*64*co), poison(boards*64*co)
						Conv3(want, clean, packed, nil, boards, ci, co, None, p, scratch)
						Conv3(y, x, packed, nil, boards, ci, co, None, p, scratch)
						const board = 64
						sameBits(t, "board before", y[:bad*board*co], want)
						sameBits(t, "board after", y[(bad+1)*board*co:], want[(bad+1)*board*co:])
						checkSpread(t, y[bad*board*co:][:board*co], want[bad*board*co:], square, co, winograd(ci, co) && !direct(ci, co, p))
					}
				})
			})
		}
	}
}

// checkSpread fails unless all channels of the squares around one are not finite
// and, without transforms, all others are as wanted. Transforms spread what is not
// finite over tiles of 4x4 squares.
func checkSpread(t *testing.T, y, want []float32, square, co int, transformed bool) {
	t.Helper()
	for i, v := range y {
		sq := i / co
		near := max(abs(sq/8-square/8), abs(sq%8-square%8)) <= 1
		switch finite := v-v == 0; {
		case near && finite:
			t.Fatalf("square %d: %g beside what is not finite", sq, v)
		case !near && !transformed && v != want[i]:
			t.Fatalf("square %d: %g, want %g", sq, v, want[i])
		}
	}
}

// What is not finite in one channel reaches the gradients of its own weights and
// no others.
func TestConv3WeightGradNotFinite(t *testing.T) {
	rng := newRand(t)
	const boards, channel = 2, 7
	for _, s := range [][2]int{{16, 32}, {48, 16}, {17, 9}} {
		ci, co := s[0], s[1]
		clean, dy := rng.floats(boards*64*ci), rng.floats(boards*64*co)
		x := append([]float32(nil), clean...)
		x[27*ci+channel] = float32(math.NaN())
		x[30*ci+channel] = float32(math.Inf(1))
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				for _, p := range precisions() {
					dw, want := make([]float32, co*ci*9), make([]float32, co*ci*9)
					scratch := poison(Conv3WeightGradScratchLen(ci, co, p))
					Conv3WeightGrad(want, clean, dy, boards, ci, co, p, scratch)
					Conv3WeightGrad(dw, x, dy, boards, ci, co, p, scratch)
					for i, v := range dw {
						if own := i/9%ci == channel; own && v-v == 0 || !own && v != want[i] {
							t.Fatalf("%s: dw[%d] is %g, without NaN %g", p, i, v, want[i])
						}
					}
				}
			})
		})
	}
}

func abs(a int) int { return max(a, -a) }
