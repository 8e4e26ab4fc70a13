package kernel

import (
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// No function allocates, in any tier, for fast and for odd channel counts.
func TestNoAllocations(t *testing.T) {
	rng := newRand(t)
	const boards = 2
	off := NewFlatPolicyOffsets()
	for _, c := range []int{17, 64} {
		n := boards * 64 * c
		x, y, z, ch := rng.floats(n), rng.floats(n), rng.floats(n), rng.floats(boards*c)
		w, dw := rng.floats(9*c*c), rng.floats(9*c*c)
		half, _ := rng.halves(n)
		mat, head := make([]float32, PackedMatLen(c, c)), make([]float32, AttendScratchLen(c))
		p, dp := rng.floats(64*64), rng.floats(64*64)
		s1, s2 := make([]float64, c), make([]float64, c)
		masks, scalars := make([][encoding.NumMasks]uint64, 1), make([]encoding.Scalars, 1)
		input, legal := make([]float32, 64*112), []uint16{3, 5}
		target := []float32{0.5, 0.5}
		run := func() {
			PackMat(mat, w[:c*c], c, c)
			PackMatTransposed(mat, w[:c*c], c, c)
			MatMul(y, x, mat, ch, boards*64-1, c, c, None)
			MatMulWeightGrad(dw[:c*c], ch, x, y, boards*64-1, c, c, nil)
			BatchNormStats(s1, s2, x, boards*64, c)
			BatchNormApply(y, f32s(x), ch, ch, nil, boards*64, c, ReLU)
			BatchNormApply(y, f32s(x), ch, ch, z, boards*64, c, ReLU)
			BatchNormBackwardStats(s1, s2, y, f32s(x), ch, ch, boards*64, c)
			BatchNormReLUBackwardStats(s1, s2, y, y, z, f32s(x), ch, ch, boards*64, c)
			BatchNormBackward(z, y, f32s(x), ch, ch, ch, s1, s2, 128, boards*64, c)
			SEApply(y, f32s(x), ch, ch, z, boards, c, ReLU)
			SEBackward(z, ch, ch, x, y, f32s(y), boards, c, ReLU)
			SEBackwardInput(z, z, ch, ch, boards, c)
			BatchNormApply(y, half, ch, ch, z, boards*64, c, Mish)
			BatchNormReLUBackwardStats(s1, s2, y, y, z, half, ch, ch, boards*64, c)
			BatchNormBackward(z, y, half, ch, ch, ch, s1, s2, 128, boards*64, c)
			SEApply(y, half, ch, ch, z, boards, c, ReLU)
			SEBackward(z, ch, ch, x, y, half, boards, c, ReLU)
			Add(y, y, x)
			Axpy(y, 0.5, x)
			Scale(y, 0.5)
			ReLUForward(y, x)
			ReLUBackward(y, x, z)
			Sigmoid(ch, ch)
			SigmoidBackward(ch, ch, ch)
			Tanh(y, x)
			TanhBackward(y, x, z)
			MishForward(y, x)
			MishBackward(y, x, z)
			Softmax(z[:3])
			Softmax(y[:37])
			SoftmaxRows(y, boards*64, c)
			LayerNorm(y, x, z, 0.5, ch, ch, boards*64, c, 1e-3)
			LayerNorm(y, x, nil, 0.5, ch, ch, boards*64, c, 1e-3)
			SoftmaxRowsBackward(z, y, x, boards*64, c)
			LayerNormBackward(z, dw[:c], dw[c:], y, x, x, 0.5, ch, boards*64, c, 1e-3)
			LayerNormBackward(z, dw[:c], dw[c:], y, x, nil, 0.5, ch, boards*64, c, 1e-3)
			AttendHead(y, c, p, x, x, x, c, c, 1, dp, head)
			AttendHeadBackward(y, z, z[n/2:], dp, p, x, x, x, c, x, c, c, head)
			half.Slice(0, 64).Set(x)
			half.Slice(0, 64).Floats(y)
			for act := ReLU2; act <= SELU; act++ {
				act.Forward(y, x)
				act.Backward(y, x, x)
			}
			SumSquares(x)
			SGDNesterov(y, x, z, 0.1, 0.9, 0)
			AdamW(y[:99], x[:99], z[:99], w[:99], 0.1, 0.9, 0.99, 1e-8, 0, 1, 1)
			NAdamW(y[:99], x[:99], z[:99], w[:99], 0.1, 0.9, 0.99, 1e-8, 0, 1, 1, 1)
			ExpandInput(input, masks, scalars, 1)
			PolicyCrossEntropy(y, target, x, off, legal, target, 1)
			WDLCrossEntropy([3]float32(x), [3]float32(x), 1)
			ScalarMSE(y[0], x[0], 1)
			HuberMovesLeft(y[0], x[0], 20, 0.5, 1)
		}
		forTiers(t, func(t *testing.T) {
			if a := testing.AllocsPerRun(2, run); a != 0 {
				t.Errorf("%g allocations", a)
			}
			for _, p := range precisions() {
				if a := testing.AllocsPerRun(2, productRun(rng, c, p)); a != 0 {
					t.Errorf("products in %s: %g allocations", p, a)
				}
			}
		})
	}
}

// productRun returns a function that runs every product of a precision over c
// channels.
func productRun(rng testRand, c int, p Precision) func() {
	const boards = 9
	x, y, sum, squares := rng.floats(boards*64*c), rng.floats(boards*64*c), rng.floats(boards*c), rng.floats(boards*c)
	w, packed, taps := rng.floats(9*c*c), make([]float32, PackedConv3Len(c, c, p)), make([]float32, 9*c*c)
	scratch := make([]float32, max(Conv3WeightGradScratchLen(c, c, p), Conv3ScratchLen(c, c, p)))
	half, halfScratch := make([]float32, PackedMatBF16Len(c, c)), make([]float32, MatMulBF16ScratchLen(c, c))
	gradScratch := make([]float32, MatMulWeightGradBF16ScratchLen(c, c))
	stored := poisonHalves(boards * 64 * c)
	policy := newPolicyConvCase(rng, c, 2)
	policyPacked, policyScratch := make([]float32, PackedPolicyConvLen(c, encoding.NumConvPlanes, p)), make([]float32, PolicyConvScratchLen(c, p))
	logits := make([]float32, len(policy.legal))
	return func() {
		PackPolicyConv(policyPacked, policy.w, c, encoding.NumConvPlanes, p)
		PolicyConv(logits, policy.x, policyPacked, policy.bias, policy.conv, policy.start, policy.legal, policy.boards, c, p, policyScratch)
		PackConv3(packed, w, c, c, p)
		PackConv3Transposed(packed, w, c, c, p)
		Conv3(y, x, packed, sum[:c], boards, c, c, Mish, p, scratch)
		Conv3Sums(f32s(y), sum, squares, x, packed, nil, boards, c, c, None, p, scratch)
		if p == BF16 && StoresBF16(c, c) {
			Conv3Sums(stored, sum, squares, x, packed, nil, boards, c, c, None, p, scratch)
		}
		Conv3WeightGrad(w, x, y, boards, c, c, p, scratch)
		Conv3WeightGradAdd(scratch, x, y, 0, boards, c, c, p)
		Conv3WeightGradSum(taps, scratch, boards, c, c, p)
		AddConv3Taps(w, taps, c, c)
		if p == BF16 && MatMulHasBF16(c, c) {
			PackMatTransposedBF16(half, w, c, c)
			PackMatBF16(half, w, c, c)
			MatMulBF16(y, x, half, sum[:c], boards*64-1, c, c, ReLU, halfScratch)
		}
		if p == BF16 && MatMulWeightGradHasBF16(c, c) {
			MatMulWeightGradBF16(w, sum[:c], x, y, boards*64-1, c, c, gradScratch)
		}
	}
}
