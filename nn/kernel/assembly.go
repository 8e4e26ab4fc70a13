package kernel

import (
	"math"
	"unsafe"
)

// asm is an assembly kernel. It takes a pointer to its argument struct and keeps none.
type asm func(args *byte)

// assembly is what a tier computes with. A nil kernel is one that the tier lacks: its
// caller goes another way. Index half is 1 for bf16, np is a number of panels.
type assembly struct {
	maxPanels   int  // of a tile of rows
	gradRows    int  // of a full block of the weight-gradient kernels
	sumPanels   int  // of the wider column sums
	lanes       int  // channels of a slice of Winograd's transforms
	pointPanels int  // of the wider products of points
	oneBoard    bool // the transforms take one board a call
	wordRun     int  // words of a sum that a product of bf16 takes at once, 0 for 1: see runOf

	gemm8, gemm1 [5]asm       // [np] tiles of 8 rows, and of one
	gemm4        asm          // tiles of 4 rows by one panel
	grad         [2][4]asm    // [half][np] add to blocks of gradRows rows
	grad1        [4]asm       // [np] the same of one row
	affine       [2][2]asm    // [half][with a residual]
	affine2      [2]asm       // [half]
	sums         [2][2][2]asm // [half][masked][sumPanels, not one]
	flat         [numFlatOps]asm
	sgd, adamw   asm
	nadamw       asm
	softmax      asm
	softmaxRows  [2]asm    // [backward]
	layerNorm    [2][2]asm // [backward][with a skip]
	sumSquares   asm
	expand       asm
	transpose    asm
	toHalf       asm
	widen        asm                // its inverse
	policyDots   [2]asm             // [half]
	rows         [2][numRowsOps]asm // [half]
	points       [2][3]asm
	pointGrad    [2][3]asm // [half][np]
	gradSet      asm       // grad that writes
	weights      [2]asm    // [half], as what follows: Winograd's transforms
	input        [2]asm
	output       [2][2]asm // [half][with sums]
	gradInput    [2]asm
	gradOutput   [2]asm
	weightGrad   asm
	pointTiles   func(a *pointArgs, np int) // products of bf16 in tiles
	conv3        [2][2]asm                  // [half][pairs of boards]: direct, in tiles
	pad, join    [2]asm                     // [pairs]
	rowWords     asm
	tapGrad      asm
	peak         [2]peakKernel  // [half]
	peakTiles    func() float64 // peak of bf16
}

// peakKernel is what measures a CPU's peak: rounds that a run makes, some 20
// microseconds, and operations of a round.
type peakKernel struct {
	kernel        asm
	rounds, flops int
}

// vectors returns the assembly of the active tier, of which the generic one has none.
func vectors() *assembly { return tables[ActiveTier()] }

// hidden returns a in a way that escape analysis does not see through: an argument struct
// of an indirect call would move to the heap. Nothing that is called so keeps a pointer.
func hidden[A any](a *A) *A { return (*A)(noEscape(unsafe.Pointer(a))) }

// noEscape returns its argument. The stack must not move while the pointer is a number,
// which the runtime would not adjust: so nothing here checks pointers or grows the stack.
//
//go:nosplit
//go:nocheckptr
func noEscape(a unsafe.Pointer) unsafe.Pointer {
	p := uintptr(a)
	return *(*unsafe.Pointer)(unsafe.Pointer(&p))
}

// run calls a kernel.
func run[A any](f asm, a *A) { f(bytesOf(hidden(a))) }

// index is 1 for true.
func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

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

// optional returns &x[i], or nil where x is nil.
func optional(x []float32, i int) *float32 {
	if x == nil {
		return nil
	}
	return &x[i]
}

// ahead returns the pointer n bytes on, within the same slice.
func ahead(p *float32, n uintptr) *float32 { return (*float32)(unsafe.Add(unsafe.Pointer(p), n)) }

// panelsNext returns how many of left panels the next tiles take. In AVX-512 a
// single panel is slow, so three are taken where two would leave one.
func (k *assembly) panelsNext(left int) int {
	switch {
	case k.maxPanels == 1 || left == 1:
		return 1
	case left == 3 || left == 5:
		return 3
	}
	return 2
}
