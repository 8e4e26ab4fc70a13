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
