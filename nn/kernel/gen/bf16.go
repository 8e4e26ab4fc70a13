package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// Neither avo nor Go's assembler knows AVX512_BF16. A bf16 instruction is
// emitted as a stand-in that avo knows, with the same operands and the same
// reads and writes, so that avo allocates its registers; encodeBF16 then writes
// the real instruction over it in the output. No kernel may use a stand-in for
// what it means.

// dpBF16 emits acc += a.lo*b.lo + a.hi*b.hi for operands a, b, acc of 16 words of bf16 pairs
// (VDPBF16PS). It flushes denormals and rounds to nearest, whatever MXCSR says.
var dpBF16 = VPMADD52LUQ

// toBF16 rounds 16 floats to 16 bf16 in the lower half of a register.
func toBF16(x reg.VecVirtual) reg.VecVirtual {
	y := YMM()
	VCVTUQQ2PS(x, y)
	return y
}

// toBF16Halves rounds lo and hi to the lower and upper half of a register.
func toBF16Halves(lo, hi reg.VecVirtual) reg.VecVirtual {
	y := ZMM()
	VPACKUSDW(lo, hi, y)
	return y
}

// bf16Op is an instruction of EVEX map 0F38, W0, 512 bits, registers only.
type bf16Op struct {
	name   string
	prefix byte // pp: 2 = F3, 3 = F2
	opcode byte
}

var standIns = map[string]bf16Op{
	"VPMADD52LUQ": {"VDPBF16PS", 2, 0x52},
	"VCVTUQQ2PS":  {"VCVTNEPS2BF16", 2, 0x72},
	"VPACKUSDW":   {"VCVTNE2PS2BF16", 3, 0x72},
}

var standInLine = regexp.MustCompile(`(?m)^\t(VPMADD52LUQ|VCVTUQQ2PS|VPACKUSDW) +(.*)$`)

// encodeBF16 replaces the stand-ins in an assembly file by bytes, with the
// instruction in a comment.
func encodeBF16(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text = standInLine.ReplaceAllFunc(text, func(line []byte) []byte {
		m := standInLine.FindSubmatch(line)
		op := standIns[string(m[1])]
		var regs []int
		for _, f := range bytes.Split(m[2], []byte(", ")) {
			n, convErr := strconv.Atoi(string(f[1:]))
			if convErr != nil || (f[0] != 'Z' && f[0] != 'Y') {
				err = fmt.Errorf("%s: %q has an operand that is no vector register", path, line)
			}
			regs = append(regs, n)
		}
		var out bytes.Buffer
		out.WriteString("\t")
		for _, b := range op.encode(regs) {
			fmt.Fprintf(&out, "BYTE $0x%02x; ", b)
		}
		fmt.Fprintf(&out, "// %s %s", op.name, m[2])
		return out.Bytes()
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// encode returns the bytes for registers in Go's order: source (rm), second
// source (vvvv; absent in a conversion), destination.
func (op bf16Op) encode(regs []int) []byte {
	rm, dst, v := regs[0], regs[len(regs)-1], 0
	if len(regs) == 3 {
		v = regs[1]
	}
	not := func(n, bit int) byte { return byte(^(n >> bit) & 1) }
	return []byte{
		0x62,
		not(dst, 3)<<7 | not(rm, 4)<<6 | not(rm, 3)<<5 | not(dst, 4)<<4 | 2,
		byte(^v&15)<<3 | 4 | op.prefix,
		2<<5 | not(v, 4)<<3,
		op.opcode,
		byte(0xc0 | dst&7<<3 | rm&7),
	}
}
