package main

import (
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Winograd's F(4x4,3x3): a board is 2x2 tiles of 4x4 outputs, each of which
// depends on 6x6 inputs; in the transformed domain a tile is 36 points, and the
// convolution is one matrix product for each. A two-dimensional transform is a
// one-dimensional one along files into temp and then one along ranks. Lanes are
// channels, so transforms run over slices of one vector of channels.
//
// Points are planes (point i*6 + j, i along ranks, at a stride), rows of a plane
// are tiles (rank half*2 + file half; 4 a board), columns channels.

// genWinograd emits the transforms of one instruction set.
func genWinograd(v isa) {
	formats := v.formats
	if v.size == 64 {
		formats = append(slices.Clone(formats), halfPairs)
	}
	for _, f := range formats {
		const name, doc = "winogradInput", "transforms a board, B^T d B."
		if v.size == 64 && f != halfPairs {
			inputHeld(v, f, name, doc)
		} else {
			toPoints(v, f, name, doc, inputFactors, (*transforms).input, -1, 6)
		}
		if f != halfRows {
			toPoints(v, f, "winogradOutputGrad", "transforms the gradient of a board's outputs, A y A^T.", outputGradFactors, (*transforms).outputGrad, 0, 4)
		}
		if f != halfPairs {
			toWeights(v, f)
		}
	}
	fromPoints(v, floats, "winogradOutput", false)
	for _, s := range v.formats {
		fromPoints(v, s, "winogradOutputSums", true)
	}
	fromWeights(v)
}

type transform1D func(t *transforms, x []reg.VecVirtual, emit func(i int, x reg.VecVirtual))

// planes addresses planes 0, 6, ... 30 from a pointer: the points of one column.
type planes struct{ s6, s18, s30 reg.GPVirtual }

func newPlanes(stride reg.Register) planes {
	p := planes{GP64(), GP64(), GP64()}
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, p.s6)
	ADDQ(p.s6, p.s6)
	LEAQ(Mem{Base: p.s6, Index: p.s6, Scale: 2}, p.s18)
	LEAQ(Mem{Base: p.s18, Index: p.s6, Scale: 2}, p.s30)
	return p
}

func (p planes) at(base reg.Register, i int) Mem {
	switch i {
	case 0:
		return Mem{Base: base}
	case 3:
		return Mem{Base: base, Index: p.s18, Scale: 1}
	case 5:
		return Mem{Base: base, Index: p.s30, Scale: 1}
	}
	return Mem{Base: base, Index: p.s6, Scale: uint8(i)}
}

// toPoints emits a transform of a board [64] to the 36 points of its 4 tiles. A
// tile half h reads width squares from 4*h + first on, along files and ranks.
func toPoints(v isa, out format, name, doc string, factors []string, f transform1D, first, width int) {
	v.kernel(name+out.suffix(), "winogradArgs", doc, func(fr *frame) {
		t := newTransforms(v, factors...)
		src, dst, temp, n := GP64(), AllocLocal(8), fr.load("temp"), AllocLocal(8)
		pack := newPacker(out)
		load := func(mem func(i int) Mem, half int) []reg.VecVirtual {
			d := make([]reg.VecVirtual, width)
			for i := range d {
				if sq := 4*half + first + i; sq >= 0 && sq < 8 {
					d[i] = v.vec()
					VMOVUPS(mem(sq), d[i])
				}
			}
			return d
		}
		overBoards(fr, src, dst, n, func() {
			loop("slice", n, func() {
				files := rowOffsets(fr, "srcRow", 8)
				p, tp, count := GP64(), GP64(), GP64()
				MOVQ(src, p)
				MOVQ(temp, tp)
				times("rank", count, 8, func() {
					for half := range 2 {
						d := load(func(i int) Mem { return files(p, i) }, half)
						f(t, d, func(j int, x reg.VecVirtual) {
							VMOVUPS(x, Mem{Base: tp, Disp: (half*6 + j) * 8 * v.size})
						})
					}
					step := fr.load("srcRow")
					LEAQ(Mem{Base: p, Index: step, Scale: 8}, p)
					ADDQ(U32(uint32(v.size)), tp)
				})
				q, row, plane := GP64(), fr.load("dstRow"), fr.load("dstPlane")
				at := newPlanes(plane)
				MOVQ(dst, q)
				MOVQ(temp, tp)
				times("column", count, 6, func() {
					r := GP64()
					MOVQ(q, r)
					for rank := range 2 {
						for file := range 2 {
							d := load(func(i int) Mem { return Mem{Base: tp, Disp: file*6*8*v.size + i*v.size} }, rank)
							f(t, d, func(i int, x reg.VecVirtual) { pack.store(x, at.at(r, i), file, i) })
							if rank+file < 2 && (out != halfPairs || file == 1) {
								ADDQ(row, r)
							}
						}
					}
					ADDQ(plane, q)
					ADDQ(U32(uint32(8*v.size)), tp)
				})
				ADDQ(U32(uint32(v.size)), src)
				ADDQ(U32(uint32(out.bytes(v.size))), dst)
			})
		})
	})
}

// overBoards emits body for every board, with src, dst and n set as it needs them.
func overBoards(f *frame, src, dst, n Op, body func()) {
	left, nextSrc, nextDst := f.local("boards"), f.local("src"), f.local("dst")
	loop("board", left, func() {
		moveMem(nextSrc, src)
		moveMem(nextDst, dst)
		moveMem(f.mem("n"), n)
		body()
		f.addTo("srcBoard", nextSrc)
		f.addTo("dstBoard", nextDst)
	})
}

// packer stores points in a format. Pairs wait for their second half.
type packer struct {
	format format
	order  reg.VecVirtual // halfPairs: lane i takes word i and word 16+i
	first  [6]reg.VecVirtual
}

// pairOrder is the data of packer.order, once emitted.
var pairOrder Mem

func newPacker(f format) *packer {
	p := &packer{format: f}
	if f != halfPairs {
		return p
	}
	if pairOrder.Symbol.Name == "" {
		pairOrder = GLOBL("winogradPairOrder", NOPTR|RODATA)
		for i := range 16 {
			DATA(4*i, U32(uint32(16+i)<<16|uint32(i)))
		}
	}
	p.order = ZMM()
	VMOVUPS(pairOrder, p.order)
	return p
}

// store writes a point: tile 0 or 1 of a pair, i the point's place in a column.
func (p *packer) store(x reg.VecVirtual, m Mem, tile, i int) {
	switch {
	case p.format != halfPairs:
		p.format.store(x, m)
	case tile == 0:
		p.first[i] = x
	default: // the first tile's are the low halves of the words
		y := toBF16Halves(p.first[i], x)
		VPERMW(y, p.order, y)
		VMOVUPS(y, m)
	}
}
