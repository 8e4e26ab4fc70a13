package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/chessbrain/chessbrain/nn/kernel/gen/args"
)

// isa is one instruction set. Kernels are written in panels of 16 floats: one
// ZMM register or two YMM registers.
type isa struct {
	name     string
	size     int       // bytes of a vector register
	rows     int       // of a full tile
	panels   int       // of it, at most
	points   int       // panels of a product of points, at most
	sums     int       // panels of the wider column sums
	formats  []format  // that kernels take for rows: what stores bf16 has products in bf16
	products []product // of matrices
}

var (
	avx512 = isa{"AVX512", 64, 8, 3, 2, 4, []format{floats, halfRows}, []product{fp32, bf16}}
	avx2   = isa{"AVX2", 32, 4, 1, 1, 2, []format{floats}, []product{fp32}}
)

const panelBytes = 64

// perPanel returns how many vectors make a panel.
func (v isa) perPanel() int { return panelBytes / v.size }

func (v isa) vec() reg.VecVirtual {
	if v.size == 64 {
		return ZMM()
	}
	return YMM()
}

func (v isa) vecs(n int) []reg.VecVirtual { return args.Several(n, v.vec) }

// grid returns accumulators for so many rows.
func (v isa) grid(rows, width int) [][]reg.VecVirtual {
	return args.Several(rows, func() []reg.VecVirtual { return v.vecs(width) })
}

func (v isa) zero(x ...reg.VecVirtual) {
	for _, r := range x {
		v.xor(r, r, r)
	}
}

// and, xor are bit operations; AVX-512 F has them on integers only.
func (v isa) and(ops ...Op) { v.either(VPANDD, VANDPS)(ops...) }
func (v isa) xor(ops ...Op) { v.either(VPXORD, VXORPS)(ops...) }

// instruction emits one instruction.
type instruction = func(ops ...Op)

// either returns what an instruction set has of the two.
func (v isa) either(wide, narrow instruction) instruction {
	if v.size == 64 {
		return wide
	}
	return narrow
}

// result returns what an instruction makes of its operands, in a new register.
func (v isa) result(do instruction, ops ...Op) reg.VecVirtual {
	r := v.vec()
	do(append(ops, r)...)
	return r
}

// copyOf returns x in a new register.
func (v isa) copyOf(x Op) reg.VecVirtual { return v.result(VMOVUPS, x) }

// zeroGrid clears accumulators.
func (v isa) zeroGrid(acc [][]reg.VecVirtual) {
	for _, row := range acc {
		v.zero(row...)
	}
}

// Predicates of comparisons.
const (
	lessOrderedQuiet    = 0x11
	greaterOrderedQuiet = 0x1e
)

// maskPositive returns x where mask > 0, else 0.
func (v isa) maskPositive(mask, x Mem, zero reg.VecVirtual) reg.VecVirtual {
	return v.where(greaterOrderedQuiet, v.copyOf(mask), zero, x)
}

// where returns x where a compares so with b, else 0.
func (v isa) where(predicate uint64, a, b reg.VecVirtual, x Op) reg.VecVirtual {
	r := v.vec()
	if v.size == 64 {
		k := K()
		VCMPPS(Imm(predicate), b, a, k)
		VMOVUPS_Z(x, k, r)
		return r
	}
	VCMPPS(Imm(predicate), b, a, r)
	VANDPS(x, r, r)
	return r
}

// kernel emits one function over an argument struct. MXCSR gets FTZ and DAZ for
// body and is restored before the return.
func (v isa) kernel(name, spec, doc string, body func(f *frame)) {
	f := begin(name+v.name, spec, doc+" args is a *"+spec+".", GP64())
	flushDenormals(func() { body(f) })
	VZEROUPPER()
	RET()
}

// flushDenormals emits body with FTZ and DAZ set in MXCSR.
func flushDenormals(body func()) {
	saved, flushed := AllocLocal(8), AllocLocal(8)
	STMXCSR(saved)
	r := GP32()
	MOVL(saved, r)
	ORL(U32(0x8040), r)
	MOVL(r, flushed)
	LDMXCSR(flushed)
	body()
	LDMXCSR(saved)
}

// begin begins a function over an argument struct, whose address r takes.
func begin(name, spec, doc string, r reg.Register) *frame {
	entries = append(entries, args.Entry{Name: name, Args: spec})
	TEXT(name, NOSPLIT, "func(args *byte)")
	Pragma("noescape")
	Doc(name + " " + doc)
	return &frame{args: Load(Param("args"), r), name: spec}
}

// genMXCSR emits the reader and the writer of MXCSR, which tests need.
func genMXCSR() {
	TEXT("readMXCSR", NOSPLIT, "func() uint32")
	Doc("readMXCSR returns the SSE control and status register.")
	m, r := AllocLocal(8), GP32()
	STMXCSR(m)
	MOVL(m, r)
	Store(r, ReturnIndex(0))
	RET()
	TEXT("writeMXCSR", NOSPLIT, "func(v uint32)")
	Doc("writeMXCSR sets the SSE control and status register of this thread.")
	m, r = AllocLocal(8), GP32()
	Load(Param("v"), r)
	MOVL(r, m)
	LDMXCSR(m)
	RET()
}

// frame gives access to a kernel's argument struct.
type frame struct {
	args reg.Register
	name string
}

// mem returns the memory operand of a field.
func (f *frame) mem(field string) Mem {
	return Mem{Base: f.args, Disp: args.Offset(f.name, field)}
}

// load returns a field in a new register.
func (f *frame) load(field string) reg.GPVirtual {
	r := GP64()
	MOVQ(f.mem(field), r)
	return r
}

// pointers returns fields in new registers, by name.
func (f *frame) pointers(fields ...string) map[string]reg.GPVirtual {
	m := map[string]reg.GPVirtual{}
	for _, name := range fields {
		m[name] = f.load(name)
	}
	return m
}

// local returns a copy of a field on the stack, for what moves but need not
// take a register.
func (f *frame) local(field string) Mem {
	m := AllocLocal(8)
	moveMem(f.mem(field), m)
	return m
}

// addTo adds a field to memory.
func (f *frame) addTo(field string, to Mem) {
	r := f.load(field)
	ADDQ(r, to)
}

// broadcast returns a float32 field in all lanes of a new vector.
func (f *frame) broadcast(v isa, field string) reg.VecVirtual {
	return v.result(VBROADCASTSS, f.mem(field))
}

// moveMem copies eight bytes, through a register where both are memory.
func moveMem(from Mem, to Op) {
	r := GP64()
	MOVQ(from, r)
	MOVQ(r, to)
}

// times is loop with a number that is known, which takes the register or memory count.
func times(label string, count Op, n uint32, body func()) {
	MOVQ(U32(n), count)
	loop(label, count, body)
}

// loop emits body n times, n > 0 in a register or in memory, which it counts down.
func loop(label string, n Op, body func()) {
	Label(label)
	body()
	DECQ(n)
	JNZ(LabelRef(label))
}
