package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genPolicy emits single outputs of a 3x3 convolution, for the few that a
// position's legal moves name: y[i] += sum of the 9 taps' products over the
// channels. The input has a border of zeros, so that all squares have 9 taps; the
// weights of an output are [panels of words][9][16], read once from end to end.
func genPolicy(v isa, pr product) {
	v.kernel("policyDots"+pr.suffix, "policyArgs", "adds single outputs of a 3x3 convolution to y.", func(f *frame) {
		const taps = 3 // along files, and along ranks
		x, w, row, square := f.load("x"), f.load("w"), f.load("row"), f.load("square")
		jobs, y, n := f.load("jobs"), f.load("y"), f.local("n")
		wp, left := GP64(), GP64()
		files := [taps]reg.GPVirtual{GP64(), GP64(), GP64()}
		acc := v.vecs(taps * v.perPanel())
		loop("job", n, func() {
			MOVQ(Mem{Base: jobs}, wp)
			MOVL(wp.As32(), files[0].As32()) // zeroes the high half
			SHRQ(Imm(32), wp)
			ADDQ(w, wp)
			ADDQ(x, files[0])
			LEAQ(Mem{Base: files[0], Index: square, Scale: 1}, files[1])
			LEAQ(Mem{Base: files[0], Index: square, Scale: 2}, files[2])
			MOVQ(f.mem("panels"), left)
			v.zero(acc...)
			loop("channels", left, func() {
				for rank := range taps {
					for file, p := range files {
						for part := range v.perPanel() {
							m := Mem{Base: p, Disp: part * v.size}
							if rank > 0 {
								m.Index, m.Scale = row, uint8(rank)
							}
							weights := v.copyOf(Mem{Base: wp, Disp: (rank*taps+file)*panelBytes + part*v.size})
							pr.add(v.copyOf(m), weights, acc[rank*v.perPanel()+part])
						}
					}
				}
				for _, p := range files {
					ADDQ(f.mem("panel"), p)
				}
				ADDQ(U32(taps*taps*panelBytes), wp)
			})
			for _, a := range acc[1:] {
				VADDPS(a, acc[0], acc[0])
			}
			v.allLanes(acc[0], VADDPS)
			sum := acc[0].AsX()
			VADDSS(Mem{Base: y}, sum, sum)
			VMOVSS(sum, Mem{Base: y})
			ADDQ(Imm(4), y)
			ADDQ(Imm(8), jobs)
		})
	})
}
