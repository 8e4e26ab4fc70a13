package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Direct 3x3 convolutions in tiles. Boards go in pairs: the activations of a pair are words
// of two channels, [blocks of 32 channels][10 ranks][10 files][2 boards][16 words], with a
// border of zeros. So a rank of a pair, moved by any tap, is a tile: 16 rows (8 files of 2
// boards), a cache line each. A board alone is 8 rows two lines apart.
const (
	tileBytes   = 1024
	lineBytes   = 64               // the words of a square of one board
	squareBytes = 2 * lineBytes    // of a pair
	rankBytes   = 10 * squareBytes // with the border
	blockBytes  = 10 * rankBytes   //
	halfRanks   = 4                // ranks whose results are in tiles together
	halfSquare  = 8 * halfRanks    // squares of them
)

// genConv3Tiles emits what a direct convolution in tiles needs.
func genConv3Tiles() {
	for _, out := range []format{floats, halfRows} {
		for boards := 1; boards <= 2; boards++ {
			(&tileConv{out: out, boards: boards}).emit()
		}
	}
	padPairs(1)
	padPairs(2)
	joinPairs(1)
	joinPairs(2)
	genWords()
	genTapGrad()
}

// tileConv emits one convolution of pairs, or of boards alone.
//
// Tiles: 0-3 results of four ranks, 4 a rank of x, 5-7 weights of a file's three taps. The
// results of a half board are stored as floats, and while the products of the next run, they
// get bias and floor, are summed and written: a few between two products each time.
//
// General registers: AX arguments, BX squares left to write, CX blocks left, DX stride of
// squares of y, SI x and DI weights of the block, R8 stride of a tile's rows of x, R9 of
// other tiles, R10 free, R11 results to write, R12 their place in y, R13 stride of its boards.
// Vectors: 0 bias, 1 floor, 2-3 sums of the boards, 4-5 of squares, 6-7 free.
type tileConv struct {
	out                            format
	boards                         int // of a tile
	writes                         int // write slots so far: labels
	x, yPair, yPanel, yStep, yNext Mem
	w, panels, pairs, panel        Mem // panel: bytes from the first channel
	sumPair, sumAt, flip           Mem // sumAt: of the panel that is being written, or 0
}

func (c *tileConv) emit() {
	name := "conv3" + []string{"One", "Pair"}[c.boards-1] + c.out.suffix() + "AMX"
	f := begin(name, "convArgs", fmt.Sprintf("convolves boards, %d at a time. args is a *convArgs.", c.boards), reg.RAX)
	for _, m := range []*Mem{&c.x, &c.yPair, &c.yPanel, &c.yStep, &c.yNext, &c.w, &c.panels, &c.pairs, &c.panel, &c.sumPair, &c.sumAt, &c.flip} {
		*m = AllocLocal(8)
	}
	flushDenormals(func() { c.convolve(f) })
	tilerelease()
	VZEROUPPER()
	RET()
}

func (c *tileConv) convolve(f *frame) {
	move := func(from, to Op) {
		MOVQ(from, reg.R10)
		MOVQ(reg.R10, to)
	}
	MOVQ(f.mem("config"), reg.R10)
	ldtilecfg(Mem{Base: reg.R10})
	MOVQ(U32(uint32(squareBytes/c.boards)), reg.R8)
	MOVQ(U32(lineBytes), reg.R9)
	MOVQ(f.mem("yRow"), reg.RDX)
	MOVQ(f.mem("yBoard"), reg.R13)
	VBROADCASTSS(f.mem("floor"), reg.Z1)
	XORQ(reg.RBX, reg.RBX)
	MOVQ(reg.RBX, c.sumAt)
	MOVQ(reg.RBX, c.flip)
	move(f.mem("x"), c.x)
	move(f.mem("y"), c.yPair)
	move(f.mem("pairs"), c.pairs)
	move(f.mem("sum"), c.sumPair)
	loop("pair", c.pairs, func() {
		move(c.yPair, c.yPanel)
		move(f.mem("yEven"), c.yStep)
		move(f.mem("yOdd"), c.yNext)
		move(f.mem("w"), c.w)
		move(f.mem("panels"), c.panels)
		MOVQ(U32(0), c.panel)
		loop("panel", c.panels, func() {
			c.half(f, 0)
			c.half(f, 1)
			MOVQ(reg.RDI, c.w)
			MOVQ(c.yStep, reg.R10)
			ADDQ(reg.R10, c.yPanel)
			MOVQ(c.yNext, reg.RCX)
			MOVQ(reg.RCX, c.yStep)
			MOVQ(reg.R10, c.yNext)
			ADDQ(U32(panelBytes), c.panel)
		})
		MOVQ(f.mem("xPair"), reg.R10)
		ADDQ(reg.R10, c.x)
		MOVQ(f.mem("yPair"), reg.R10)
		ADDQ(reg.R10, c.yPair)
		for range c.boards {
			MOVQ(f.mem("sumBoard"), reg.R10)
			ADDQ(reg.R10, c.sumPair)
		}
	})
	c.finish(f, "last", true)
}

// half emits the products of half a board and begins to write its results.
func (c *tileConv) half(f *frame, half int) {
	for j := range tile(halfRanks) {
		tilezero(j)
	}
	MOVQ(c.w, reg.RDI)
	MOVQ(c.x, reg.RSI)
	MOVQ(f.mem("blocks"), reg.RCX)
	loop(fmt.Sprintf("block%d", half), reg.RCX, func() {
		for file := range 3 {
			for rank := range tile(3) {
				tileloadd(Mem{Base: reg.RDI, Index: reg.R9, Scale: 1, Disp: int(rank) * tileBytes}, 5+rank)
			}
			for r := range halfRanks + 2 { // ranks of x, from the one before the half
				if border := halfRanks*half + r; border == 0 || border == 9 {
					continue
				}
				tileloadd(Mem{Base: reg.RSI, Index: reg.R8, Scale: 1, Disp: (halfRanks*half+r)*rankBytes + file*squareBytes}, 4)
				for j := max(0, r-2); j <= min(halfRanks-1, r); j++ {
					tdpbf16ps(tile(5+r-j), 4, tile(j))
				}
				c.write(f)
				if r == 2 {
					c.write(f)
				}
			}
			ADDQ(U32(3*tileBytes), reg.RDI)
		}
		ADDQ(U32(blockBytes), reg.RSI)
	})
	c.finish(f, fmt.Sprintf("rest%d", half), half == 0)
	if half == 0 {
		c.begin(f)
	}
	MOVQ(f.mem("scratch"), reg.R11)
	ADDQ(c.flip, reg.R11)
	XORQ(U32(halfRanks*tileBytes), c.flip)
	for j := range halfRanks {
		tilestored(tile(j), Mem{Base: reg.R11, Index: reg.R9, Scale: 1, Disp: j * tileBytes * c.boards / 2})
	}
	MOVQ(U32(halfSquare), reg.RBX)
}

// begin emits what a panel's first results need.
func (c *tileConv) begin(f *frame) {
	MOVQ(c.yPanel, reg.R12)
	for _, z := range []reg.VecPhysical{reg.Z0, reg.Z2, reg.Z3, reg.Z4, reg.Z5} {
		VPXORD(z, z, z)
	}
	MOVQ(f.mem("bias"), reg.R10)
	TESTQ(reg.R10, reg.R10)
	JZ(LabelRef("unbiased"))
	ADDQ(c.panel, reg.R10)
	VMOVUPS(Mem{Base: reg.R10}, reg.Z0)
	Label("unbiased")
	CMPQ(f.mem("sum"), Imm(0))
	JE(LabelRef("unsummed"))
	MOVQ(c.sumPair, reg.R10)
	ADDQ(c.panel, reg.R10)
	MOVQ(reg.R10, c.sumAt)
	Label("unsummed")
}

// write emits the writing of one square, if any is left.
func (c *tileConv) write(f *frame) {
	c.writes++
	done := fmt.Sprintf("written%d", c.writes)
	TESTQ(reg.RBX, reg.RBX)
	JZ(LabelRef(done))
	c.square(f, done)
	Label(done)
}

func (c *tileConv) square(f *frame, done string) {
	for b := range c.boards {
		r, half := []reg.VecPhysical{reg.Z6, reg.Z7}[b], []reg.VecPhysical{reg.Y6, reg.Y7}[b]
		VADDPS(Mem{Base: reg.R11, Disp: b * panelBytes}, reg.Z0, r)
		// The second operand wins when one is NaN: NaN passes.
		VMAXPS(r, reg.Z1, r)
		sum := []reg.VecPhysical{reg.Z2, reg.Z3}[b]
		squares := []reg.VecPhysical{reg.Z4, reg.Z5}[b]
		VADDPS(r, sum, sum)
		VFMADD231PS(r, r, squares)
		to := Mem{Base: reg.R12}
		if b == 1 {
			to.Index, to.Scale = reg.R13, 1
		}
		if c.out == floats {
			VMOVUPS(r, to)
		} else {
			VCVTUQQ2PS(r, half)
			VMOVUPS(half, to)
		}
	}
	ADDQ(U32(uint32(c.boards*panelBytes)), reg.R11)
	ADDQ(reg.RDX, reg.R12)
	DECQ(reg.RBX)
	TESTQ(U32(7), reg.RBX)
	JNZ(LabelRef(done))
	ADDQ(f.mem("yRank"), reg.R12)
}

// finish emits the writing of what is left, and of a board's sums after its second half.
func (c *tileConv) finish(f *frame, label string, sums bool) {
	Label(label)
	end := label + "end"
	TESTQ(reg.RBX, reg.RBX)
	JZ(LabelRef(end))
	c.square(f, label)
	JMP(LabelRef(label))
	Label(end)
	if !sums {
		return
	}
	none := label + "none"
	MOVQ(c.sumAt, reg.R10)
	TESTQ(reg.R10, reg.R10)
	JZ(LabelRef(none))
	VMOVUPS(reg.Z2, Mem{Base: reg.R10})
	if c.boards == 2 {
		ADDQ(f.mem("sumBoard"), reg.R10)
		VMOVUPS(reg.Z3, Mem{Base: reg.R10})
	}
	MOVQ(c.sumAt, reg.R10)
	SUBQ(f.mem("sum"), reg.R10)
	ADDQ(f.mem("squares"), reg.R10)
	VMOVUPS(reg.Z4, Mem{Base: reg.R10})
	if c.boards == 2 {
		ADDQ(f.mem("sumBoard"), reg.R10)
		VMOVUPS(reg.Z5, Mem{Base: reg.R10})
	}
	Label(none)
}

// padPairs emits the rounding of a pair of boards, or of one, to words with a border.
func padPairs(boards int) {
	v := avx512
	name := "pad" + []string{"One", "Pair"}[boards-1] + "Half"
	v.kernel(name, "padArgs", fmt.Sprintf("rounds %d boards to words with a border of zeros.", boards), func(f *frame) {
		zero := v.vec()
		v.zero(zero)
		x, y, row := f.load("x"), f.load("y"), f.load("xRow")
		lines := func(n int) { // zero squares
			for i := range 2 * n {
				VMOVUPS(zero, Mem{Base: y, Disp: i * lineBytes})
			}
			ADDQ(U32(uint32(n*squareBytes)), y)
		}
		block := func(label string, half bool) {
			src := []reg.GPVirtual{GP64(), GP64()}[:boards]
			MOVQ(x, src[0])
			if boards == 2 {
				MOVQ(x, src[1])
				ADDQ(f.mem("xBoard"), src[1])
			}
			lines(10)
			ranks := AllocLocal(8)
			times(label+"rank", ranks, 8, func() {
				lines(1)
				squares := GP64()
				times(label+"square", squares, 8, func() {
					for b, s := range src {
						low := v.copyOf(Mem{Base: s})
						if half {
							VMOVUPS(toBF16(low).AsZ(), Mem{Base: y, Disp: b * lineBytes})
						} else {
							VMOVUPS(toBF16Halves(low, v.copyOf(Mem{Base: s, Disp: panelBytes})), Mem{Base: y, Disp: b * lineBytes})
						}
						ADDQ(row, s)
					}
					ADDQ(U32(squareBytes), y)
				})
				lines(1)
			})
			lines(10)
		}
		n := f.local("blocks")
		CMPQ(n, Imm(0))
		JE(LabelRef("whole"))
		loop("block", n, func() {
			block("whole", false)
			ADDQ(U32(2*panelBytes), x)
		})
		Label("whole")
		CMPQ(f.mem("half"), Imm(0))
		JE(LabelRef("done"))
		block("half", true)
		Label("done")
	})
}

// joinPairs emits the end of a residual block of a pair of boards, or of one: z and x become
// max(floor, gate*z + beta + x), of which x keeps all bits.
func joinPairs(boards int) {
	v := avx512
	name := "join" + []string{"One", "Pair"}[boards-1] + "Half"
	v.kernel(name, "joinArgs", fmt.Sprintf("ends the residual block of %d boards.", boards), func(f *frame) {
		floor, row := f.broadcast(v, "floor"), f.load("xRow")
		z, x, gate, beta := f.load("z"), f.load("x"), f.load("gate"), f.load("beta")
		ADDQ(U32(rankBytes+squareBytes), z) // the first square
		block := func(label string, panels int) {
			gates, betas := v.grid(boards, panels), v.grid(boards, panels)
			at, from := GP64(), []reg.GPVirtual{GP64(), GP64()}[:boards]
			XORQ(at, at)
			for b, p := range from {
				for i := range panels {
					m := Mem{Index: at, Scale: 1, Disp: i * panelBytes}
					m.Base = gate
					VMOVUPS(m, gates[b][i])
					m.Base = beta
					VMOVUPS(m, betas[b][i])
				}
				ADDQ(f.mem("gateBoard"), at)
				MOVQ(x, p)
				if b == 1 {
					ADDQ(f.mem("xBoard"), p)
				}
			}
			ranks, squares := AllocLocal(8), GP64()
			times(label+"rank", ranks, 8, func() {
				times(label+"square", squares, 8, func() {
					for b, p := range from {
						r := v.vecs(panels)
						for i := range r {
							r[i] = halfRows.load(v, Mem{Base: z, Disp: b*lineBytes + i*lineBytes/2})
							VFMADD213PS(betas[b][i], gates[b][i], r[i])
							VADDPS(Mem{Base: p, Disp: i * panelBytes}, r[i], r[i])
							VMAXPS(r[i], floor, r[i]) // NaN passes
							VMOVUPS(r[i], Mem{Base: p, Disp: i * panelBytes})
						}
						to := Mem{Base: z, Disp: b * lineBytes}
						if panels == 1 {
							halfRows.store(r[0], to)
						} else {
							VMOVUPS(toBF16Halves(r[0], r[1]), to)
						}
						ADDQ(row, p)
					}
					ADDQ(U32(squareBytes), z)
				})
				ADDQ(U32(2*squareBytes), z)
			})
			ADDQ(U32(blockBytes-8*rankBytes), z)
		}
		n := f.local("blocks")
		CMPQ(n, Imm(0))
		JE(LabelRef("whole"))
		loop("block", n, func() {
			block("whole", 2)
			for _, p := range []reg.Register{x, gate, beta} {
				ADDQ(U32(2*panelBytes), p)
			}
		})
		Label("whole")
		CMPQ(f.mem("half"), Imm(0))
		JE(LabelRef("done"))
		block("half", 1)
		Label("done")
	})
}

// genWords emits the rounding of rows, two at a time, to the halves of words.
func genWords() {
	v := avx512
	v.kernel("rowWordsHalf", "wordArgs", "rounds rows of 16 floats to the low and high halves of words.", func(f *frame) {
		x, y, squares := f.load("x"), f.load("y"), f.local("squares")
		pair, odd := f.load("xPair"), f.load("xOdd")
		pack := newPacker(halfPairs)
		loop("square", squares, func() {
			from, to, panels := GP64(), GP64(), f.local("panels")
			MOVQ(x, from)
			MOVQ(y, to)
			loop("panel", panels, func() {
				low, words, pairs := GP64(), GP64(), f.load("pairs")
				MOVQ(from, low)
				MOVQ(to, words)
				loop("pair", pairs, func() {
					pack.store(v.copyOf(Mem{Base: low}), Mem{}, 0, 0)
					pack.store(v.copyOf(Mem{Base: low, Index: odd, Scale: 1}), Mem{Base: words}, 1, 0)
					ADDQ(pair, low)
					ADDQ(U32(lineBytes), words)
				})
				ADDQ(U32(panelBytes), from)
				ADDQ(f.mem("yPanel"), to)
			})
			ADDQ(f.mem("xSquare"), x)
			ADDQ(f.mem("ySquare"), y)
		})
	})
}

// genTapGrad emits the gradients of the weights between a panel of output channels and
// panels of input channels: for each tap the sum over boards and squares of the outputs'
// gradient times the input a tap away. Boards run along a product's sum. What a rank of the
// gradient needs, the sums of the nine taps too, stays in the first-level cache.
//
// Tiles: 0-2 the taps of a rank, 3-5 the last squares of the input, 6-7 of the gradient. A
// square that is loaded serves three taps.
//
// General registers: AX arguments, BX steps left, CX rank, SI and DI gradient and input of
// the rank, R8 stride of rows of y, R9 of other tiles, R10 free, R11 and R12 gradient and
// input of the step, R13 input of the panel, R15 y of the panel, DX sums.
func genTapGrad() {
	f := begin("tapGradAMX", "tapArgs", "computes gradients of a panel of a convolution's weights. args is a *tapArgs.", reg.RAX)
	panels := AllocLocal(8)
	MOVQ(f.mem("panels"), reg.R10)
	MOVQ(reg.R10, panels)
	MOVQ(f.mem("config"), reg.R10)
	ldtilecfg(Mem{Base: reg.R10})
	MOVQ(U32(lineBytes), reg.R9)
	MOVQ(f.mem("yRow"), reg.R8)
	MOVQ(f.mem("b"), reg.R13)
	MOVQ(f.mem("y"), reg.R15)
	MOVQ(f.mem("scratch"), reg.RDX)
	VPXORD(reg.Z0, reg.Z0, reg.Z0)
	loop("panel", panels, func() {
		for i := range 9 * tileBytes / lineBytes {
			VMOVUPS(reg.Z0, Mem{Base: reg.RDX, Disp: i * lineBytes})
		}
		MOVQ(f.mem("a"), reg.R11)
		MOVQ(reg.R13, reg.R12)
		MOVQ(f.mem("steps"), reg.RBX)
		loop("step", reg.RBX, func() {
			MOVQ(reg.R11, reg.RSI)
			MOVQ(reg.R12, reg.RDI)
			times("rank", reg.RCX, 8, func() {
				for tap := range 3 { // the input is a rank below, beside or above
					skip := fmt.Sprintf("skip%d", tap)
					if tap != 1 {
						CMPQ(reg.RCX, Imm([]uint64{8, 0, 1}[tap])) // at the first and the last rank
						JE(LabelRef(skip))
					}
					sums := func(i tile) Mem {
						return Mem{Base: reg.RDX, Index: reg.R9, Scale: 1, Disp: (3*tap + int(i)) * tileBytes}
					}
					for i := range tile(3) {
						tileloadd(sums(i), i)
					}
					rankGrad((tap - 1) * 8 * tileBytes)
					for i := range tile(3) {
						tilestored(i, sums(i))
					}
					Label(skip)
				}
				ADDQ(U32(8*tileBytes), reg.RSI)
				ADDQ(U32(8*tileBytes), reg.RDI)
			})
			ADDQ(U32(64*tileBytes), reg.R11)
			ADDQ(f.mem("bStep"), reg.R12)
		})
		MOVQ(reg.R15, reg.R10)
		for tap := range 9 {
			tileloadd(Mem{Base: reg.RDX, Index: reg.R9, Scale: 1, Disp: tap * tileBytes}, tile(tap%4))
			tilestored(tile(tap%4), Mem{Base: reg.R10, Index: reg.R8, Scale: 1})
			ADDQ(f.mem("yTap"), reg.R10)
		}
		ADDQ(U32(64*tileBytes), reg.R13)
		ADDQ(U32(panelBytes), reg.R15)
	})
	tilerelease()
	VZEROUPPER()
	RET()
}

// rankGrad emits the products of a rank's squares, the input so many bytes away.
func rankGrad(away int) {
	input := func(file int) tile { return tile(3 + file%3) }
	load := func(p reg.Register, disp int, t tile) {
		tileloadd(Mem{Base: p, Index: reg.R9, Scale: 1, Disp: disp}, t)
	}
	load(reg.RDI, away, input(0))
	for file := range 8 {
		d := tile(6 + file%2)
		load(reg.RSI, file*tileBytes, d)
		tdpbf16ps(input(file), d, 1)
		if file > 0 {
			tdpbf16ps(input(file-1), d, 0)
		}
		if file < 7 {
			load(reg.RDI, away+(file+1)*tileBytes, input(file+1))
			tdpbf16ps(input(file+1), d, 2)
		}
	}
}
