package kernel

import (
	"fmt"
	"sync"
)

// Precision is the number format of the factors in products. Sums and everything
// else are fp32, but for what is Stored in bf16.
type Precision int

// The precisions.
const (
	FP32 Precision = iota // float32 factors
	BF16                  // factors rounded to bfloat16 (8 bits of mantissa, to nearest even)
)

// String returns the name that ParsePrecision accepts.
func (p Precision) String() string { return [...]string{"fp32", "bf16"}[p] }

// ParsePrecision returns the precision of a name: fp32 or bf16.
func ParsePrecision(s string) (Precision, error) {
	for p := FP32; p <= BF16; p++ {
		if s == p.String() {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown precision %q: want fp32 or bf16", s)
}

// HasBF16 says whether the active tier multiplies bfloat16 numbers. Where it does
// not, BF16 means FP32.
func HasBF16() bool { return multipliesBF16(ActiveTier()) }

// PrefersBF16 says whether the active tier multiplies bfloat16 numbers faster than float32
// ones. Intel's CPUs that have tiles do so by tiles alone: in AVX-512, which is left where a
// virtual machine hides the tiles, at half the rate. On NEON it is taken to be so.
func PrefersBF16() bool { return HasBF16() && (ActiveTier() != AVX512 || fastBF16()) }

// fastBF16 compares the peaks of AVX-512, half a millisecond once: they differ by two, either way.
var fastBF16 = sync.OnceValue(func() bool {
	var peak [2]float64
	for range 8 {
		for p := range peak {
			peak[p] = max(peak[p], PeakGFLOPS(0, Precision(p)))
		}
	}
	return peak[BF16] > peak[FP32]
})

// here returns the precision that p means in the active tier.
func (p Precision) here() Precision {
	if p == BF16 && !HasBF16() {
		return FP32
	}
	return p
}
