//go:build amd64 || arm64

package kernel

import (
	"math"
	"unsafe"
)

const f32 = 4 // bytes of a float32

// bytesOf returns the pointer form that assembly stubs take.
func bytesOf[T any](p *T) *byte { return (*byte)(unsafe.Pointer(p)) }

// floorBits returns the float32 bits of the lower bound that act imposes.
func floorBits(act Act) uint64 {
	if act == ReLU {
		return 0
	}
	return uint64(math.Float32bits(float32(math.Inf(-1))))
}

func bits32(v float32) uint64 { return uint64(math.Float32bits(v)) }

// at returns a pointer to x[i].
func at(x []float32, i int) *float32 { return &x[i] }

// at returns a pointer to number i for an argument struct: to bf16 where the kernel
// is one for it.
func (s Stored) at(i int) *float32 {
	if s.half() {
		return (*float32)(unsafe.Pointer(&s.BF16[i]))
	}
	return &s.F32[i]
}

// size is the bytes of a number.
func (s Stored) size() int {
	if s.half() {
		return f32 / 2
	}
	return f32
}

// len is how many numbers there are.
func (s Stored) len() int { return max(len(s.F32), len(s.BF16)) }
