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
	mat := make([]float32, PackedMatLen(c, c))
	PackMat(mat, filled(c*c, huge), c, c)
	sums, products := make([]float64, c), make([]float64, c)
	widened := make([]float32, c)
	for _, f := range []struct {
		name string
		run  func() []float32
	}{
		{"MatMul", func() []float32 { MatMul(z, x, mat, nil, rows-1, c, c, None); return z[:(rows-1)*c] }},
		{"Conv3", func() []float32 { return denormalConv(x, huge, boards, c, FP32) }},
		{"Conv3 bf16", func() []float32 { return denormalConv(x, huge, boards, c, BF16) }},
		{"MatMulWeightGrad", func() []float32 {
			clear(z)
			MatMulWeightGrad(z[:c*c], nil, x, y, rows, c, c, nil)
			return z[:c*c]
		}},
		{"Conv3WeightGrad", func() []float32 { return denormalGrad(x, y, boards, c, FP32) }},
		{"Conv3WeightGrad bf16", func() []float32 { return denormalGrad(x, y, boards, c, BF16) }},
		{"Conv3WeightGrad bf16, dy", func() []float32 { return denormalGrad(y, x, boards, c, BF16) }},
		{"BatchNormApply", func() []float32 { BatchNormApply(z, f32s(x), ones, none, nil, rows, c, ReLU); return z }},
		{"SEApply", func() []float32 { SEApply(z, f32s(x), ones, none, nil, boards, c, None); return z }},
		{"BatchNormBackwardStats", func() []float32 {
			clear(sums)
			clear(products)
			BatchNormBackwardStats(sums, products, y, f32s(x), none[:c], filled(c, 1), rows, c)
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
		{"NAdamW", func() []float32 {
			clear(z)
			n := len(z)
			NAdamW(z, make([]float32, n), filled(n, tiny), make([]float32, n), huge, 1, 0.9, 1, 0, 1, 1, 1)
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

// denormalConv convolves x with weights of one value.
func denormalConv(x []float32, w float32, boards, c int, p Precision) []float32 {
	packed, y := make([]float32, PackedConv3Len(c, c, p)), make([]float32, len(x))
	PackConv3(packed, filled(9*c*c, w), c, c, p)
	Conv3(y, x, packed, nil, boards, c, c, None, p, make([]float32, Conv3ScratchLen(c, c, p)))
	return y
}

func denormalGrad(x, dy []float32, boards, c int, p Precision) []float32 {
	dw := make([]float32, 9*c*c)
	Conv3WeightGrad(dw, x, dy, boards, c, c, p, make([]float32, Conv3WeightGradScratchLen(c, c, p)))
	return dw
}

// Denormal inputs and weights are 0 in bf16 products of matrices too.
func TestDenormalMatMulBF16(t *testing.T) {
	const rows, c, tiny, huge = 6, 32, 1e-40, 1e20
	forBF16(t, func(t *testing.T) {
		for _, f := range [][2]float32{{tiny, huge}, {huge, tiny}} {
			packed, y := make([]float32, PackedMatBF16Len(c, c)), poison(rows*c)
			PackMatBF16(packed, filled(c*c, f[1]), c, c)
			MatMulBF16(y, filled(rows*c, f[0]), packed, nil, rows, c, c, None, poison(MatMulBF16ScratchLen(c, c)))
			for i, v := range y {
				if v != 0 {
					t.Fatalf("%g times %g: result %d is %g", f[0], f[1], i, v)
				}
			}
		}
	})
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
