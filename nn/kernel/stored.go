package kernel

import (
	"math"
	"unsafe"
)

// Half is a bf16 number: the upper half of a float32's bits.
type Half uint16

// Float returns the number as float32.
func (h Half) Float() float32 { return math.Float32frombits(uint32(h) << 16) }

// Stored are numbers that wait in memory for a later pass, in float32 or, in half
// the memory, in bf16: one of the slices, the other is nil. Arithmetic on them is
// float32's, and bf16 is fast where StoresBF16 says so.
type Stored struct {
	F32  []float32
	BF16 []Half
}

// StoresBF16 says whether convolutions ci -> co store bf16 in the active tier:
// those that multiply it.
func StoresBF16(ci, co int) bool { return HasBF16() && winograd(ci, co) }

// NewStored returns n numbers, in bf16 if half.
func NewStored(n int, half bool) Stored {
	if half {
		return Stored{BF16: make([]Half, n)}
	}
	return Stored{F32: make([]float32, n)}
}

// Slice returns the n numbers from i on.
func (s Stored) Slice(i, n int) Stored {
	if s.half() {
		return Stored{BF16: s.BF16[i:][:n]}
	}
	return Stored{F32: s.F32[i:][:n]}
}

// Set makes x the numbers; len(x) is theirs, of whole panels of 16.
func (s Stored) Set(x []float32) {
	x = x[:s.len()]
	if !s.half() {
		copy(s.F32, x)
		return
	}
	for i := 0; i < len(x); i += maxCallFloats {
		n := min(maxCallFloats, len(x)-i)
		if !HasBF16() {
			for j, v := range x[i:][:n] {
				s.BF16[i+j] = Half(halfBits(v))
			}
			continue
		}
		run(vectors().toHalf, &flatArgs{y: s.at(i), a: at(x, i), n: uintptr(n / panel)})
	}
}

// Floats returns the numbers, of whole panels of 16: themselves, or in scratch, which is as
// long, where they are bf16.
func (s Stored) Floats(scratch []float32) []float32 {
	if !s.half() {
		return s.F32
	}
	scratch = scratch[:s.len()]
	for i := 0; i < len(scratch); i += maxCallFloats {
		n := min(maxCallFloats, len(scratch)-i)
		if !HasBF16() {
			for j := range n {
				scratch[i+j] = s.float(i + j)
			}
			continue
		}
		run(vectors().widen, &flatArgs{y: at(scratch, i), a: s.at(i), n: uintptr(n / panel)})
	}
	return scratch
}

// half says whether the numbers are bf16.
func (s Stored) half() bool { return s.BF16 != nil }

// float returns number i.
func (s Stored) float(i int) float32 {
	if s.half() {
		return s.BF16[i].Float()
	}
	return s.F32[i]
}

// vectors says whether the active tier has vector kernels for rows of c numbers
// with a source like s.
func (s Stored) vectors(c int) bool {
	return ActiveTier() != Generic && c%panel == 0 && (!s.half() || HasBF16())
}

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
