//go:build linux

package kernel

import (
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
	const boards = 1
	for _, s := range [][2]int{{3, 5}, {17, 80}, {48, 16}, {64, 33}} {
		ci, co := s[0], s[1]
		for _, low := range []bool{false, true} {
			mem := func(n int) []float32 { return guarded(t, rng, n, low) }
			x, y, res := mem(boards*64*ci), mem(boards*64*co), mem(boards*64*ci)
			bias, packed, w := mem(co), mem(PackedConv3Len(ci, co, FP32)), mem(9*ci*co)
			mat, conv := mem(PackedMatLen(ci, co)), mem(Conv3ScratchLen(ci, co, FP32))
			grad, a, b := mem(Conv3WeightGradScratchLen(ci, co, FP32)), mem(boards*ci), mem(boards*ci)
			s1, s2 := make([]float64, ci), make([]float64, ci)
			const rows = boards * 64
			forTiers(t, func(t *testing.T) {
				PackConv3(packed, w, ci, co, FP32)
				PackMat(mat, w[:ci*co], ci, co)
				Conv3(y, x, packed, bias, boards, ci, co, ReLU, FP32, conv)
				Conv3WeightGrad(w, x, y, boards, ci, co, FP32, grad)
				MatMul(y, x, mat, bias, rows, ci, co, None)
				MatMul(y[co:], x[ci:], mat, bias, rows-1, ci, co, None)
				MatMulWeightGrad(w[:ci*co], bias, x, y, rows, ci, co, nil)
				BatchNormStats(s1, s2, x, rows, ci)
				BatchNormApplyResidual(x, x, a, b, res, rows, ci, ReLU)
				BatchNormReLUBackwardStats(s1, s2, res, res, x, x, a, b, rows, ci)
				BatchNormBackward(res, res, x, a, b, a, s1, s2, rows, rows, ci)
				SEApply(x, x, a, b, res, boards, ci, ReLU)
				SEBackward(res, a, b, res, x, x, boards, ci, ReLU)
				SEBackwardInput(res, res, a, b, boards, ci)
				Add(x, x, res)
				ReLUBackward(x, x, res)
				MishForward(x, x)
				MishBackward(x, res, x)
				TanhBackward(res, x, res)
				Tanh(a, a)
				SumSquares(x)
				softmax(bias)
				SGDNesterov(x, res, res, 0.1, 0.9, 0)
				AdamW(w[:ci], x[:ci], res[:ci], a, 0.1, 0.9, 0.9, 1, 0, 1, 1)
			})
		}
	}
}
