//go:build amd64 || arm64

package kernel

import (
	"fmt"
	"testing"
)

// CPUs with AVX-512 and without AVX512_BF16 exist, as do those of arm64 without FEAT_BF16.
// There BF16 means FP32, bit for bit: a kernel that still rounded to bf16 would be an
// illegal instruction.
func TestWithoutBF16(t *testing.T) {
	old := ActiveTier()
	t.Cleanup(func() {
		if err := SetTier(old); err != nil {
			t.Error(err)
		}
	})
	if err := SetTier(forgetBF16(t)); err != nil {
		t.Fatal(err)
	}
	if HasBF16() || BF16.here() != FP32 || MatMulHasBF16(64, 64) {
		t.Fatal("bf16 products are promised")
	}
	rng := newRand(t)
	for _, s := range [][3]int{{16, 16, 1}, {48, 80, 9}, {17, 33, 2}} {
		ci, co, boards := s[0], s[1], s[2]
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			x, w, bias := rng.floats(boards*64*ci), rng.floats(co*ci*9), rng.floats(co)
			dy := rng.floats(boards * 64 * co)
			var results [2][][]float32
			for i, p := range []Precision{FP32, BF16} {
				packed, turned := poison(PackedConv3Len(ci, co, p)), poison(PackedConv3Len(co, ci, p))
				PackConv3(packed, w, ci, co, p)
				PackConv3Transposed(turned, w, ci, co, p)
				y, dx, sum, squares := poison(len(dy)), poison(len(x)), poison(boards*co), poison(boards*co)
				Conv3Sums(f32s(y), sum, squares, x, packed, bias, boards, ci, co, ReLU, p, poison(Conv3ScratchLen(ci, co, p)))
				Conv3(dx, dy, turned, nil, boards, co, ci, None, p, poison(Conv3ScratchLen(co, ci, p)))
				dw := make([]float32, len(w))
				Conv3WeightGrad(dw, x, dy, boards, ci, co, p, poison(Conv3WeightGradScratchLen(ci, co, p)))
				results[i] = [][]float32{packed, turned, y, sum, squares, dx, dw}
			}
			for i, r := range results[0] {
				if len(r) != len(results[1][i]) {
					t.Fatalf("result %d: lengths %d and %d", i, len(r), len(results[1][i]))
				}
				sameBits(t, fmt.Sprintf("result %d", i), results[1][i], r)
			}
		})
	}
	if peak := PeakGFLOPS(2e7, BF16); peak <= 0 {
		t.Errorf("peak %g", peak)
	}
}
