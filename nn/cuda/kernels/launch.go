package kernels

import (
	"unsafe"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// Type is how activations and packed weights are stored.
type Type uint8

// The storage types. Sums are fp32 with all of them.
const (
	F32 Type = iota // no tensor cores; runs on every device
	BF16
	FP16
)

// Size returns the bytes of an element.
func (t Type) Size() int {
	if t == F32 {
		return 4
	}
	return 2
}

// String returns the suffix of the type's kernels.
func (t Type) String() string { return [...]string{"f32", "bf16", "fp16"}[t] }

// The activations of the kernels' act arguments.
const (
	ActNone int32 = iota
	ActReLU
	ActMish
)

// Launch is a kernel with its arguments, ready for a stream.
type Launch struct {
	Kernel      string
	Grid, Block driver.Dim
	Shared      int    // bytes of dynamic shared memory
	Args        []byte // the argument struct
}

// bytesOf returns the memory of an argument struct.
func bytesOf[A any](a *A) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(a)), unsafe.Sizeof(*a)) }

// inRow is a launch of n blocks.
func inRow[A any](kernel string, n, threads, shared int, a *A) Launch {
	return Launch{
		Kernel: kernel,
		Grid:   driver.Dim{X: n, Y: 1, Z: 1},
		Block:  driver.Dim{X: threads, Y: 1, Z: 1},
		Shared: shared,
		Args:   bytesOf(a),
	}
}

// perWarp is a launch with a warp for each of n rows or boards, so many a block.
func perWarp[A any](kernel string, each, n int, a *A) Launch {
	return inRow(kernel, ceil(n, each), 32*each, 0, a)
}

// Pad returns n rounded up to the multiple of 16 that activations are padded to.
func Pad(n int) int { return (n + 15) &^ 15 }

// ceil divides, rounding up.
func ceil(n, by int) int { return (n + by - 1) / by }
