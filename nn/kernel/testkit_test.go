package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// testRand makes test data; every test prints its seed.
type testRand struct{ *rand.Rand }

func newRand(t testing.TB) testRand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return testRand{rand.New(rand.NewPCG(seed, 1))}
}

// floats returns n normal numbers in a slice that starts 4 bytes off a 64-byte
// boundary more often than not: kernels may not assume alignment.
func (r testRand) floats(n int) []float32 {
	s := make([]float32, n+1)[1:]
	for i := range s {
		s[i] = float32(r.NormFloat64())
	}
	return s
}

// poison returns n NaN.
func poison(n int) []float32 {
	s := make([]float32, n+3)[3:]
	for i := range s {
		s[i] = float32(math.NaN())
	}
	return s
}

// forTiers runs f in every tier that this machine has.
func forTiers(t *testing.T, f func(t *testing.T)) {
	old := ActiveTier()
	t.Cleanup(func() {
		if err := SetTier(old); err != nil {
			t.Error(err)
		}
	})
	for _, tier := range Tiers() {
		t.Run(tier.String(), func(t *testing.T) {
			if err := SetTier(tier); err != nil {
				t.Fatal(err)
			}
			f(t)
		})
	}
}

// fewer returns the cases, in the short form of the tests all but the last: an emulated CPU
// takes minutes for them.
func fewer[T any](cases []T) []T {
	if testing.Short() {
		return cases[:len(cases)-1]
	}
	return cases
}

// precisions returns those that the active tier tells apart.
func precisions() []Precision {
	if HasBF16() {
		return []Precision{FP32, BF16}
	}
	return []Precision{FP32}
}

// closeTo fails unless got is want within tol times (1 + |want| + mag[i]); mag
// may be nil. NaN must meet NaN.
func closeTo(t *testing.T, what string, got []float32, want, mag []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: length %d, want %d", what, len(got), len(want))
	}
	for i, g := range got {
		limit := tol * (1 + math.Abs(want[i]))
		if mag != nil {
			limit += tol * mag[i]
		}
		if d := math.Abs(float64(g) - want[i]); !(d <= limit) {
			t.Fatalf("%s[%d] = %g, want %g: off by %g, limit %g", what, i, g, want[i], d, limit)
		}
	}
}

// sameBits fails unless a and b are equal bit for bit.
func sameBits(t *testing.T, what string, a, b []float32) {
	t.Helper()
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			t.Fatalf("%s[%d]: %g != %g", what, i, a[i], b[i])
		}
	}
}

// f32s are stored numbers in float32.
func f32s(x []float32) Stored { return Stored{F32: x} }
