//go:build !amd64

package kernel

// Only amd64 has bf16 products; MatMulHasBF16 is false here.

func toHalf(words, x []float32) { panic("kernel: no bf16") }

func halfProduct(y, words, packed []float32, rows, k, n int) { panic("kernel: no bf16") }
