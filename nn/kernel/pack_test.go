package kernel

import (
	"fmt"
	"math"
	"testing"
)

// packedPoint returns the factor of a packed convolution ci -> co: point p, input
// i, output o. Points of a panel of outputs stand at one stride, whatever it is.
func packedPoint(packed []float32, ci, co, p, i, o int, prec Precision) float64 {
	const numPoints = 36
	stride := PackedConv3Len(ci, co, prec) / (numPoints * co) // rows of words
	rows := packed[(o/panel*numPoints+p)*stride*panel:]
	if prec != BF16 {
		return float64(rows[i*panel+o%panel])
	}
	w, run := i/2, runOf(prec)
	word := math.Float32bits(rows[w/run*run*panel+o%panel*run+w%run])
	return float64(math.Float32frombits(word >> (i % 2 * 16) << 16))
}

// Packed weights are G g G^T, in bf16 rounded once; a transposed packing is that
// of the turned kernel with exchanged channels.
func TestPackConv3Winograd(t *testing.T) {
	if BestTier() == Generic {
		t.Skip("SKIPPED: this CPU has no vector tier")
	}
	rng := newRand(t)
	for _, s := range [][2]int{{16, 16}, {48, 16}, {32, 80}, {112, 48}} {
		ci, co := s[0], s[1]
		w := rng.floats(co * ci * 9)
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				if !winograd(ci, co) {
					return // packed by taps, which TestConv3 tells
				}
				for _, p := range precisions() {
					if direct(ci, co, p) {
						continue // TestDirectConv tells
					}
					packed := poison(PackedConv3Len(ci, co, p) + 1)
					PackConv3(packed, w, ci, co, p)
					checkPacked(t, packed, ci, co, p, func(o, i, t int) float32 { return w[(o*ci+i)*9+t] })
					packed = poison(PackedConv3Len(co, ci, p) + 1)
					PackConv3Transposed(packed, w, ci, co, p)
					checkPacked(t, packed, co, ci, p, func(o, i, t int) float32 { return w[(i*ci+o)*9+8-t] })
				}
			})
		})
	}
}

// checkPacked holds packed against the float64 transform of the taps: within
// float32's roundings, or those and half a unit of bf16 (2^-8).
func checkPacked(t *testing.T, packed []float32, ci, co int, p Precision, tap func(o, i, t int) float32) {
	t.Helper()
	n := len(packed) - 1
	if end := packed[n]; end == end {
		t.Fatal("wrote past the end")
	}
	want := modelKernel(ci, co, false, tap)
	mag := modelKernel(ci, co, false, func(o, i, t int) float32 { return float32(math.Abs(float64(tap(o, i, t)))) })
	unit := 0.0
	if p == BF16 {
		unit = 1.0 / 256
	}
	for at, v := range want {
		point, i, o := at/(ci*co), at/co%ci, at%co
		got := packedPoint(packed, ci, co, point, i, o, p)
		// All taps of the transform's row of powers are at most those of point modelA
		// and modelB; mag has them without the signs for positive points.
		near := math.Abs(mag[(positive(point)*ci+i)*co+o])
		if d := math.Abs(got - v); !(d <= 4e-7*near+unit*math.Abs(v)) {
			t.Fatalf("%s: point %d, input %d, output %d: %g, want %g", p, point, i, o, got, v)
		}
	}
}

// positive returns the point with both coordinates' signs positive: points 2 and
// 4 along an axis are the negatives of 1 and 3.
func positive(point int) int {
	at := [6]int{0, 1, 1, 3, 3, 5}
	return at[point/6]*6 + at[point%6]
}
