package kernel

import "testing"

// filled returns n times v.
func filled(n int, v float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// Denormal factors are 0 in vector tiers and count in the generic one; each
// result would be a normal number.
func TestDenormalInputs(t *testing.T) {
	const c, boards, tiny, huge = 32, 2, 1e-40, 1e20
	const rows = boards * 64
	x, y, z := filled(rows*c, tiny), filled(rows*c, huge), make([]float32, rows*c)
	ones, none := filled(boards*c, huge), make([]float32, boards*c)
	packed := make([]float32, PackedConv3Len(c, c, FP32))
	mat, scratch := make([]float32, PackedMatLen(c, c)), make([]float32, Conv3WeightGradScratchLen(c, c, FP32))
	PackMat(mat, filled(c*c, huge), c, c)
	sums, products := make([]float64, c), make([]float64, c)
	widened := make([]float32, c)
	for _, f := range []struct {
		name string
		run  func() []float32
	}{
		{"MatMul", func() []float32 { MatMul(z, x, mat, nil, rows-1, c, c, None); return z[:(rows-1)*c] }},
		{"Conv3", func() []float32 {
			PackConv3(packed, filled(9*c*c, huge), c, c, FP32)
			Conv3(z, x, packed, nil, boards, c, c, None, FP32, scratch)
			return z
		}},
		{"MatMulWeightGrad", func() []float32 {
			clear(z)
			MatMulWeightGrad(z[:c*c], nil, x, y, rows, c, c, nil)
			return z[:c*c]
		}},
		{"Conv3WeightGrad", func() []float32 {
			dw := make([]float32, 9*c*c)
			Conv3WeightGrad(dw, x, y, boards, c, c, FP32, scratch)
			return dw
		}},
		{"BatchNormApply", func() []float32 { BatchNormApply(z, x, ones, none, rows, c, ReLU); return z }},
		{"SEApply", func() []float32 { SEApply(z, x, ones, none, nil, boards, c, None); return z }},
		{"BatchNormBackwardStats", func() []float32 {
			clear(sums)
			clear(products)
			BatchNormBackwardStats(sums, products, y, x, none[:c], filled(c, 1), rows, c)
			for i, v := range products {
				widened[i] = float32(v)
			}
			return widened
		}},
		{"Axpy", func() []float32 { clear(z); Axpy(z, huge, x); return z }},
		{"Scale", func() []float32 { copy(z, x); Scale(z, huge); return z }},
		{"SGDNesterov", func() []float32 { clear(z); SGDNesterov(z, x, make([]float32, len(x)), huge, 0, 0); return z }},
		{"AdamW", func() []float32 {
			clear(z)
			n := len(z)
			AdamW(z, make([]float32, n), filled(n, tiny), make([]float32, n), huge, 1, 0.9, 1, 0, 1, 1)
			return z
		}},
	} {
		t.Run(f.name, func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				for i, v := range f.run() {
					if kept := v != 0; kept != (ActiveTier() == Generic) || v != v {
						t.Fatalf("result %d is %g", i, v)
					}
				}
			})
		})
	}
}

// Denormal results are 0 in vector tiers.
func TestDenormalResults(t *testing.T) {
	forTiers(t, func(t *testing.T) {
		x := filled(64, 1e-30)
		Scale(x, 1e-10)
		for i, v := range x {
			if kept := v != 0; kept != (ActiveTier() == Generic) {
				t.Fatalf("result %d is %g", i, v)
			}
		}
	})
}
