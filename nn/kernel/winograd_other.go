//go:build !amd64 && !arm64

package kernel

// Without the transforms' assembly every convolution goes the direct way, and
// nothing else below is reached.

func winograd(ci, co int) bool { return false }

func groupBoards(Precision) int { return 8 }

func winogradPackedLen(ci, co int, p Precision) int { panic("kernel: no Winograd") }

func winogradPack(dst, w []float32, outStride, inStride int, turned bool, ci, co int, p Precision) {
	panic("kernel: no Winograd")
}

func winogradScratchLen(ci, co int, p Precision) int { panic("kernel: no Winograd") }

func winogradConv(y Stored, sum, squares, x, packed, bias []float32, boards, ci, co int, act Act, p Precision, scratch []float32) {
	panic("kernel: no Winograd")
}

func winogradGradScratchLen(ci, co int, p Precision) int { panic("kernel: no Winograd") }

func winogradGradAdd(scratch, x, dy []float32, first, boards, ci, co int, p Precision) {
	panic("kernel: no Winograd")
}

func winogradGradSum(taps, scratch []float32, boards, ci, co int, p Precision) []float32 {
	panic("kernel: no Winograd")
}
