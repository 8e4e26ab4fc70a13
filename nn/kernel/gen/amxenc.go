package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Neither avo nor Go's assembler knows AMX. Its instructions are emitted as
// bytes, with the instruction in a comment; avo cannot allocate what it does not
// see, so their registers must be physical. Encodings: Intel, Software
// Developer's Manual, volume 2 (VEX.128, map 0F38, W0).

// tile is one of the 8 tile registers.
type tile byte

func (t tile) String() string { return fmt.Sprintf("TMM%d", byte(t)) }

// gp returns the hardware number of r, a physical general register. It panics for any
// other, a generator's bug.
func gp(r reg.Register) byte {
	if r.Kind() != reg.KindGP {
		panic(fmt.Sprintf("%v is no general register", r))
	}
	return byte(r.(reg.Physical).PhysicalIndex())
}

// amxOp is an instruction's VEX prefix field pp (0 none, 1 66, 2 F3, 3 F2) and
// opcode.
type amxOp struct{ pp, opcode byte }

var (
	opConfig  = amxOp{0, 0x49} // LDTILECFG, and TILERELEASE without memory
	opZero    = amxOp{3, 0x49}
	opLoad    = amxOp{3, 0x4b}
	opStore   = amxOp{2, 0x4b}
	opDotBF16 = amxOp{2, 0x5c}
)

// vex returns prefix and opcode; x and b are the high bits of the index and base
// registers, v the register of the third operand.
func (op amxOp) vex(x, b, v byte) []byte {
	const map0F38, noR = 2, 0x80
	return []byte{0xc4, noR | (^x&1)<<6 | (^b&1)<<5 | map0F38, (^v&15)<<3 | op.pp, op.opcode}
}

// registers encodes an operation on registers only: modrm.reg, modrm.rm, vvvv.
func (op amxOp) registers(r, rm, v tile) []byte {
	return append(op.vex(0, 0, byte(v)), 0xc0|byte(r)<<3|byte(rm))
}

// memory encodes an operation on t and m. Tile loads and stores need an index
// register, which holds the stride of rows.
func (op amxOp) memory(t tile, m operand.Mem) []byte {
	base, index, scale := gp(m.Base), byte(4), byte(0) // index 4: none
	if m.Index != nil {
		index = gp(m.Index)
		for s := m.Scale; s > 1; s /= 2 {
			scale++
		}
		if index == 4 {
			panic("SP cannot be an index")
		}
	}
	code := op.vex(index>>3, base>>3, 0)
	modrm := byte(t) << 3
	disp := displacement(m.Disp, base)
	switch len(disp) {
	case 1:
		modrm |= 0x40
	case 4:
		modrm |= 0x80
	}
	if m.Index != nil || base&7 == 4 {
		code = append(code, modrm|4, scale<<6|index&7<<3|base&7)
	} else {
		code = append(code, modrm|base&7)
	}
	return append(code, disp...)
}

// displacement returns the shortest encoding; a base of BP or R13 needs one.
func displacement(d int, base byte) []byte {
	switch {
	case d == 0 && base&7 != 5:
		return nil
	case d >= -128 && d < 128:
		return []byte{byte(d)}
	}
	return []byte{byte(d), byte(d >> 8), byte(d >> 16), byte(d >> 24)}
}

// emit adds an instruction of these bytes. Of avo's operands only a label prints
// as it is, so a label holds all after the first BYTE.
func emit(code []byte, format string, args ...any) {
	var s strings.Builder
	for i, b := range code {
		if i > 0 {
			s.WriteString("; BYTE ")
		}
		fmt.Fprintf(&s, "$0x%02x", b)
	}
	fmt.Fprintf(&s, "; // "+format, args...)
	build.Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.LabelRef(s.String())}})
}

// ldtilecfg configures the tiles from 64 bytes of memory and zeroes them.
func ldtilecfg(m operand.Mem) { emit(opConfig.memory(0, m), "LDTILECFG %s", m.Asm()) }

// tilerelease puts the tiles into their initial state.
func tilerelease() { emit(opConfig.registers(0, 0, 0), "TILERELEASE") }

func tilezero(t tile) { emit(opZero.registers(t, 0, 0), "TILEZERO %s", t) }

// tileloadd loads rows of t from base on, a stride in m's index register apart.
func tileloadd(m operand.Mem, t tile) { emit(opLoad.memory(t, m), "TILELOADD %s, %s", m.Asm(), t) }

// tilestored stores rows of t from base on.
func tilestored(t tile, m operand.Mem) { emit(opStore.memory(t, m), "TILESTORED %s, %s", t, m.Asm()) }

// tdpbf16ps adds the product of a (rows of pairs along the sum) and b (pairs
// along the sum as rows) to acc. It rounds to nearest even, treats denormal
// factors as 0 and flushes denormal sums, and neither reads nor writes MXCSR.
func tdpbf16ps(b, a, acc tile) {
	emit(opDotBF16.registers(acc, a, b), "TDPBF16PS %s, %s, %s", b, a, acc)
}
