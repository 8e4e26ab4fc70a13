package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genPeak emits rounds of one product on each of chains accumulators, on registers: as
// many as cover the latency of two pipes, 4 cycles of a multiply-add (12 chains) and 6 of
// VDPBF16PS (24).
func genPeak(v isa, pr product, chains int, products string) {
	doc := fmt.Sprintf("runs %d %s a round on registers.", chains, products)
	v.kernel("peak"+pr.suffix, "peakArgs", doc, func(f *frame) {
		n, acc, x := f.load("n"), v.vecs(chains), v.vec()
		v.zero(append([]reg.VecVirtual{x}, acc...)...)
		loop("round", n, func() {
			for _, a := range acc {
				pr.add(x, x, a)
			}
		})
	})
}

// genPeakAMX emits rounds of the four products of a tile kernel's step without
// its loads: the tiles are zeros. See tileProduct for their use.
func genPeakAMX() {
	f := begin("peakAMX", "tileArgs",
		"runs 4 products of bf16 tiles a step on registers. args is a *tileArgs, of which config and steps count.", reg.RAX)
	MOVQ(f.mem("config"), reg.RCX)
	ldtilecfg(Mem{Base: reg.RCX}) // which zeroes all tiles
	MOVQ(f.mem("steps"), reg.RCX)
	loop("step", reg.RCX, func() {
		for i := range 2 {
			for j := range 2 {
				tdpbf16ps(tile(6+j), tile(4+i), accumulator(i, j))
			}
		}
	})
	tilerelease()
	RET()
}
