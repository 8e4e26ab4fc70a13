package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genAMX emits the tile products and the reader of XCR0.
func genAMX() {
	for _, tiles := range []int{1, 2} {
		for _, panels := range []int{1, 2} {
			tileProduct(tiles, panels)
		}
	}
	genXCR0()
}

// tileProduct emits y[p][r] = sum over k of x[p][r][k] (.) w[p][k] for all points
// p and blocks of rows, in up to 2x2 accumulators of 16 rows by 16 columns.
//
// Tiles: 0-3 accumulators (2*row tile + panel), 4-5 rows of x, 6-7 panels of w.
// Their heights and widths come from the configuration: x has as many rows as the
// block, and as many words a row as w has rows, the words of a step. A step loads
// each factor once for two products; four products in a row hide the latency of
// one. The panels of packed weights are such that a tile of w is contiguous.
//
// General registers: AX arguments, CX steps, DX and DI panels of w, SI and BX
// row tiles of x (of y when storing), R8 row stride of x or y, R9 row stride of w, R10
// blocks left, R11 y and R12 x of the block, R13 w of the point.
//
// No vector register and no MXCSR is touched: the tiles round to nearest even,
// take denormals as 0 and flush denormal sums, always.
func tileProduct(tiles, panels int) {
	f := begin(fmt.Sprintf("tile%dx%dAMX", tiles*16, panels*16), "tileArgs",
		fmt.Sprintf("computes products of points in blocks of up to %d rows by %d columns. args is a *tileArgs.", tiles*16, panels*16), reg.RAX)
	x, y, left := AllocLocal(8), AllocLocal(8), AllocLocal(8)
	for i, field := range []string{"x", "y", "points"} {
		MOVQ(f.mem(field), reg.RCX)
		MOVQ(reg.RCX, []Mem{x, y, left}[i])
	}
	MOVQ(f.mem("w"), reg.R13)
	MOVQ(f.mem("wRow"), reg.R9)
	MOVQ(f.mem("config"), reg.RCX)
	ldtilecfg(Mem{Base: reg.RCX})
	loop("point", left, func() {
		MOVQ(x, reg.R12)
		MOVQ(y, reg.R11)
		MOVQ(f.mem("blocks"), reg.R10)
		loop("block", reg.R10, func() {
			tileSum(f.mem, tiles, panels)
			tileStore(f.mem, tiles, panels)
		})
		for i, field := range []string{"xPoint", "yPoint"} {
			MOVQ(f.mem(field), reg.RCX)
			ADDQ(reg.RCX, []Mem{x, y}[i])
		}
		ADDQ(f.mem("wPoint"), reg.R13)
	})
	tilerelease() // what is not released slows down every later switch of threads
	RET()
}

// tileSum emits the products of a block into the accumulators and moves R12 to
// the next block.
func tileSum(field func(string) Mem, tiles, panels int) {
	rows := []reg.Register{reg.RSI, reg.RBX}[:tiles]
	cols := []reg.Register{reg.RDI, reg.RDX}[:panels]
	MOVQ(reg.R12, reg.RSI)
	if tiles == 2 {
		MOVQ(field("xTile"), reg.RBX)
		ADDQ(reg.R12, reg.RBX)
	}
	ADDQ(field("xBlock"), reg.R12)
	MOVQ(reg.R13, reg.RDI)
	if panels == 2 {
		MOVQ(field("wPanel"), reg.RDX)
		ADDQ(reg.R13, reg.RDX)
	}
	for i := range rows {
		for j := range cols {
			tilezero(accumulator(i, j))
		}
	}
	MOVQ(field("xRow"), reg.R8)
	MOVQ(field("steps"), reg.RCX)
	loop("step", reg.RCX, func() {
		for i, r := range rows {
			tileloadd(Mem{Base: r, Index: reg.R8, Scale: 1}, tile(4+i))
			for j, c := range cols {
				if i == 0 {
					tileloadd(Mem{Base: c, Index: reg.R9, Scale: 1}, tile(6+j))
				}
				tdpbf16ps(tile(6+j), tile(4+i), accumulator(i, j))
			}
		}
		for _, r := range rows {
			ADDQ(field("xStep"), r)
		}
		for _, c := range cols {
			ADDQ(field("wStep"), c)
		}
	})
}

// tileStore writes the accumulators to R11 and moves it to the next block.
func tileStore(field func(string) Mem, tiles, panels int) {
	MOVQ(field("yRow"), reg.R8)
	MOVQ(reg.R11, reg.RSI)
	for i := range tiles {
		for j := range panels {
			tilestored(accumulator(i, j), Mem{Base: reg.RSI, Index: reg.R8, Scale: 1, Disp: j * panelBytes})
		}
		if i < tiles-1 {
			ADDQ(field("yTile"), reg.RSI)
		}
	}
	ADDQ(field("yBlock"), reg.R11)
}

func accumulator(i, j int) tile { return tile(2*i + j) }

// genXCR0 emits the reader of XCR0, whose bits say which registers the operating
// system saves.
func genXCR0() {
	TEXT("readXCR0", NOSPLIT, "func() uint64")
	Doc("readXCR0 returns extended control register 0. The CPU must have OSXSAVE.")
	XORL(reg.ECX, reg.ECX)
	XGETBV()
	SHLQ(Imm(32), reg.RDX)
	ORQ(reg.RDX, reg.RAX)
	Store(reg.RAX, ReturnIndex(0))
	RET()
}
