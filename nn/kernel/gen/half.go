package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// genHalf emits the rounding of whole arrays to bf16.
func genHalf() {
	avx512.kernel("flatHalf", "flatArgs", "rounds a to bf16, 16 to 8 words.", func(f *frame) {
		y, a, n := f.load("y"), f.load("a"), f.load("n")
		loop("panel", n, func() {
			x := avx512.vec()
			VMOVUPS(Mem{Base: a}, x)
			VMOVUPS(toBF16(x), Mem{Base: y})
			ADDQ(Imm(panelBytes), a)
			ADDQ(Imm(panelBytes/2), y)
		})
	})
}
