package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Numbers of independent accumulators of the peak kernels: enough to cover the
// latency of two pipes, 4 cycles of a multiply-add and 6 of VDPBF16PS.
const (
	peakChains     = 12
	peakChainsBF16 = 24
)

// genPeak emits rounds of peakChains multiply-adds on registers.
func genPeak(v isa) {
	peak(v, "peak", "runs 12 multiply-adds a round on registers.", peakChains,
		func(x, acc reg.VecVirtual) { VFMADD231PS(x, x, acc) })
}

// genPeakBF16 emits rounds of peakChainsBF16 products of bf16 pairs.
func genPeakBF16() {
	peak(avx512, "peakBF16", "runs 24 products of 16 bf16 pairs a round on registers.", peakChainsBF16,
		func(x, acc reg.VecVirtual) { dpBF16(x, x, acc) })
}

// peak emits rounds of one op on each of chains accumulators.
func peak(v isa, name, doc string, chains int, op func(x, acc reg.VecVirtual)) {
	v.kernel(name, "peakArgs", doc, func(f *frame) {
		n, acc, x := f.load("n"), v.vecs(chains), v.vec()
		v.zero(append([]reg.VecVirtual{x}, acc...)...)
		loop("round", n, func() {
			for _, a := range acc {
				op(x, a)
			}
		})
	})
}

// genPeakAMX emits rounds of the four products of a tile kernel's step without
// its loads: the tiles are zeros. See tileProduct for their use.
func genPeakAMX() {
	field := tileKernel("peakAMX", "runs 4 products of bf16 tiles a step on registers. args is a *tileArgs, of which config and steps count.")
	MOVQ(field("config"), reg.RCX)
	ldtilecfg(Mem{Base: reg.RCX}) // which zeroes all tiles
	MOVQ(field("steps"), reg.RCX)
	Label("step")
	for i := range 2 {
		for j := range 2 {
			tdpbf16ps(tile(6+j), tile(4+i), accumulator(i, j))
		}
	}
	DECQ(reg.RCX)
	JNZ(LabelRef("step"))
	tilerelease()
	RET()
}
