//go:build linux

package kernel

import (
	"fmt"
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns n random floats that end at a page that must not be touched:
// a kernel that reads or writes past the end of a slice faults. With low set the
// slice starts right after such a page instead.
func guarded(t *testing.T, rng testRand, n int, low bool) []float32 {
	t.Helper()
	page := syscall.Getpagesize()
	body := roundUp(4*n, page)
	m, err := syscall.Mmap(-1, 0, body+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	for _, p := range [][]byte{m[:page], m[page+body:]} {
		if err := syscall.Mprotect(p, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	at := page
	if !low {
		at = page + body - 4*n
	}
	s := unsafe.Slice((*float32)(unsafe.Pointer(&m[at])), n)
	copy(s, rng.floats(n))
	return s
}

// Nothing outside the slices is read or written, at either end.
func TestStaysInBounds(t *testing.T) {
	rng := newRand(t)
	for _, s := range fewer([][2]int{{3, 5}, {17, 80}, {48, 16}, {16, 48}, {80, 112}, {64, 33}}) {
		for _, low := range []bool{false, true} {
			t.Run(fmt.Sprint(s, low), func(t *testing.T) {
				forTiers(t, func(t *testing.T) {
					if ActiveTier() == Generic {
						return // plain Go checks its bounds itself
					}
					mem := func(n int) []float32 { return guarded(t, rng, n, low) }
					for _, p := range precisions() {
						for _, boards := range []int{1, 3, 9} {
							convolveInBounds(mem, s[0], s[1], boards, p)
						}
					}
					for _, rows := range []int{1, 2, 5, 64, 67} {
						multiplyInBounds(mem, s[0], s[1], rows)
					}
					passInBounds(mem, s[0])
				})
			})
		}
	}
}

// The same of the policy head.
func TestPolicyConvStaysInBounds(t *testing.T) {
	rng := newRand(t)
	for _, ci := range []int{5, 48, 64} {
		for _, low := range []bool{false, true} {
			forTiers(t, func(t *testing.T) {
				c := newPolicyConvCase(rng, ci, 3)
				mem := func(n int) []float32 { return guarded(t, rng, n, low) }
				c.x, c.w, c.bias = mem(len(c.x)), mem(len(c.w)), mem(len(c.bias))
				for _, p := range precisions() {
					c.run(mem, 0, c.boards, p)
				}
			})
		}
	}
}

// convolveInBounds runs the convolutions of boards in memory from mem.
func convolveInBounds(mem func(int) []float32, ci, co, boards int, p Precision) {
	x, y, bias, w := mem(boards*64*ci), mem(boards*64*co), mem(co), mem(9*ci*co)
	packed, scratch := mem(PackedConv3Len(ci, co, p)), mem(Conv3ScratchLen(ci, co, p))
	PackConv3(packed, w, ci, co, p)
	Conv3(y, x, packed, bias, boards, ci, co, ReLU, p, scratch)
	Conv3Sums(f32s(y), mem(boards*co), mem(boards*co), x, packed, nil, boards, ci, co, None, p, scratch)
	if p == BF16 && StoresBF16(ci, co) {
		Conv3Sums(halvesIn(mem, boards*64*co), mem(boards*co), mem(boards*co), x, packed, nil, boards, ci, co, None, p, scratch)
	}
	turned := mem(PackedConv3Len(co, ci, p))
	PackConv3Transposed(turned, w, ci, co, p)
	Conv3(x, y, turned, nil, boards, co, ci, None, p, mem(Conv3ScratchLen(co, ci, p)))
	grad, taps := mem(Conv3WeightGradScratchLen(ci, co, p)), mem(9*co*ci)
	Conv3WeightGrad(w, x, y, boards, ci, co, p, grad)
	Conv3WeightGradAdd(grad, x, y, 0, 1, ci, co, p)
	Conv3WeightGradAdd(grad, x, y, gradBoards-boards, boards, ci, co, p)
	Conv3WeightGradSum(taps, grad, gradBoards, ci, co, p)
	AddConv3Taps(w, taps, ci, co)
}

// halvesIn returns n bf16 numbers in memory from mem.
func halvesIn(mem func(int) []float32, n int) Stored {
	return Stored{BF16: unsafe.Slice((*Half)(unsafe.Pointer(&mem(n / 2)[0])), n/2*2)}
}

// multiplyInBounds runs the matrix products of rows in memory from mem.
func multiplyInBounds(mem func(int) []float32, k, n, rows int) {
	x, y, bias, w := mem(rows*k), mem(rows*n), mem(n), mem(n*k)
	packed, turned := mem(PackedMatLen(k, n)), mem(PackedMatLen(n, k))
	PackMat(packed, w, k, n)
	PackMatTransposed(turned, w, k, n)
	MatMul(y, x, packed, bias, rows, k, n, None)
	MatMul(x, y, turned, nil, rows, n, k, ReLU)
	MatMulWeightGrad(w, bias, x, y, rows, k, n, mem(MatMulWeightGradScratchLen(k, n)))
	if MatMulHasBF16(k, n) {
		half := mem(PackedMatBF16Len(k, n))
		PackMatBF16(half, w, k, n)
		PackMatTransposedBF16(half, w, k, n)
		MatMulBF16(y, x, half, bias, rows, k, n, ReLU, mem(MatMulBF16ScratchLen(k, n)))
		MatMulBF16(y, x, half, nil, rows, k, n, Mish, mem(MatMulBF16ScratchLen(k, n)))
	}
	if MatMulWeightGradHasBF16(k, n) {
		MatMulWeightGradBF16(w, bias, x, y, rows, k, n, mem(MatMulWeightGradBF16ScratchLen(k, n)))
	}
}

// passInBounds runs the element-wise functions and sums over one board.
func passInBounds(mem func(int) []float32, c int) {
	const rows = 64
	x, res, a, b, w := mem(rows*c), mem(rows*c), mem(c), mem(c), mem(c)
	s1, s2 := make([]float64, c), make([]float64, c)
	BatchNormStats(s1, s2, x, rows, c)
	BatchNormApply(x, f32s(x), a, b, res, rows, c, ReLU)
	BatchNormReLUBackwardStats(s1, s2, res, res, x, f32s(x), a, b, rows, c)
	BatchNormBackward(res, res, f32s(x), a, b, a, s1, s2, rows, rows, c)
	SEApply(x, f32s(x), a, b, res, 1, c, ReLU)
	SEBackward(res, a, b, res, x, f32s(x), 1, c, ReLU)
	SEBackwardInput(res, res, a, b, 1, c)
	half := halvesIn(mem, rows*c)
	BatchNormApply(x, half, a, b, res, rows, c, ReLU)
	BatchNormApply(x, half, a, b, nil, rows, c, ReLU)
	BatchNormBackwardStats(s1, s2, res, half, a, b, rows, c)
	BatchNormReLUBackwardStats(s1, s2, res, res, x, half, a, b, rows, c)
	BatchNormBackward(res, res, half, a, b, a, s1, s2, rows, rows, c)
	Add(x, x, res)
	ReLUBackward(x, x, res)
	MishForward(x, x)
	MishBackward(x, res, x)
	TanhBackward(res, x, res)
	Tanh(a, a)
	SumSquares(x)
	Softmax(w)
	SoftmaxRows(x, rows, c)
	LayerNorm(x, x, res, 0.5, a, b, rows, c, 1e-3)
	LayerNorm(res, x, nil, 0.5, a, b, rows, c, 1e-3)
	SoftmaxRowsBackward(x, x, res, rows, c)
	LayerNormBackward(x, w, b, x, res, res, 0.5, a, rows, c, 1e-3)
	LayerNormBackward(res, w, b, x, res, nil, 0.5, a, rows, c, 1e-3)
	for act := ReLU2; act <= SELU; act++ {
		act.Forward(res, x)
		act.Backward(res, x, x)
	}
	SGDNesterov(x, res, res, 0.1, 0.9, 0)
	AdamW(w, x[:c], res[:c], a, 0.1, 0.9, 0.9, 1, 0, 1, 1)
	NAdamW(w, x[:c], res[:c], a, 0.1, 0.9, 0.9, 1, 0, 1, 1, 1)
}

// The same of a head of attention.
func TestAttentionStaysInBounds(t *testing.T) {
	rng := newRand(t)
	for _, depth := range []int{5, 16, 40} {
		for _, low := range []bool{false, true} {
			forTiers(t, func(t *testing.T) {
				n := 63*(2*depth) + depth // the last head of two
				mem := func(n int) []float32 { return guarded(t, rng, n, low) }
				q, k, v, y, p, scratch := mem(n), mem(n), mem(n), mem(n), mem(64*64), mem(AttendScratchLen(depth))
				AttendHead(y, 2*depth, p, q, k, v, 2*depth, depth, 1, mem(64*64), scratch)
				AttendHeadBackward(mem(n), mem(n), mem(n), mem(64*64), p, q, k, v, 2*depth, y, 2*depth, depth, scratch)
				s := NewStored(64, HasBF16())
				s.Set(mem(64))
				s.Floats(mem(64))
			})
		}
	}
}

// The same of what works on pairs of boards.
func TestPairsStayInBounds(t *testing.T) {
	const ci, co = 112, 96
	if !HasPairs(ci, BF16) {
		t.Skip("SKIPPED: this CPU has no tiles")
	}
	rng := newRand(t)
	for _, boards := range []int{1, 4, 5} {
		for _, low := range []bool{false, true} {
			mem := func(n int) []float32 { return guarded(t, rng, n, low) }
			x, y, packed := mem(PairsLen(boards, ci)), mem(PairsLen(boards, co)), mem(PackedConv3Len(ci, co, BF16))
			PackConv3(packed, mem(9*ci*co), ci, co, BF16)
			ToPairs(x, mem(boards*64*ci), boards, ci)
			ConvPairs(y, mem(boards*co), mem(boards*co), x, packed, mem(co), boards, ci, co, None, mem(PairsScratchLen))
			JoinPairs(mem(boards*64*co), y, mem(boards*co), mem(boards*co), boards, co, ReLU)
		}
	}
}
