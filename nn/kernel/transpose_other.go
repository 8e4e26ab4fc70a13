//go:build !amd64

package kernel

// transposeBlocks has no vector kernel here.
func transposeBlocks(dst, src []float32, dstRow, srcRow, dstStep, srcStep, n int) bool { return false }
