package main

import (
	"bytes"
	"fmt"

	"github.com/chessbrain/chessbrain/nn/kernel/gen/args"
)

// Sizes in bytes: a vector register holds a quad of floats, packed weights come
// in panels of 16.
const (
	quadBytes  = 16
	panelBytes = 64
	panelQuads = panelBytes / quadBytes
)

// gp is a general register.
type gp int

func (r gp) String() string { return fmt.Sprintf("R%d", int(r)) }

// usableGP are the general registers a leaf may use: R18 is the platform's, R27
// the assembler's, R28 holds g, R29 to R31 are frame, link and stack.
var usableGP = func() (list []gp) {
	for r := range gp(27) {
		if r != 18 {
			list = append(list, r)
		}
	}
	return list
}()

// output gathers the assembly, its Go stubs and the list of entries.
type output struct {
	asm, stubs bytes.Buffer
	entries    []args.Entry
}

// fn is one assembly function that is being written. Registers are given out in
// order and never reused; running out of them is a generator's bug and panics.
type fn struct {
	*output
	spec   string // name of the argument struct
	args   gp
	numGP  int
	numVec vec
}

// kernel emits one function over an argument struct. FPCR gets FZ (denormal
// inputs and results are 0) for body and is restored before the return.
func (o *output) kernel(name, spec, doc string, body func(f *fn)) {
	name += "NEON"
	o.entries = append(o.entries, args.Entry{Name: name, Args: spec})
	fmt.Fprintf(&o.stubs, "\n// %s %s args is a *%s.\n//\n//go:noescape\nfunc %s(args *byte)\n", name, doc, spec, name)
	fmt.Fprintf(&o.asm, "\n// func %s(args *byte)\nTEXT ·%s(SB), NOSPLIT, $0-8\n", name, name)
	f := &fn{output: o, spec: spec}
	f.args = f.gp()
	saved, flushed := f.gp(), f.gp()
	f.ins("MOVD args+0(FP), %v", f.args)
	f.ins("MOVD FPCR, %v", saved)
	f.ins("ORR $(1<<24), %v, %v // FZ", saved, flushed)
	f.ins("MOVD %v, FPCR", flushed)
	body(f)
	f.ins("MOVD %v, FPCR", saved)
	f.ins("RET")
}

// genFPCR emits the reader and the writer of FPCR, which tests need.
func genFPCR(o *output) {
	o.stubs.WriteString("\n// readFPCR returns the floating-point control register.\nfunc readFPCR() uint64\n")
	o.stubs.WriteString("\n// writeFPCR sets the floating-point control register of this thread.\nfunc writeFPCR(v uint64)\n")
	f := &fn{output: o}
	o.asm.WriteString("\n// func readFPCR() uint64\nTEXT ·readFPCR(SB), NOSPLIT, $0-8\n")
	f.ins("MOVD FPCR, R0")
	f.ins("MOVD R0, ret+0(FP)")
	f.ins("RET")
	o.asm.WriteString("\n// func writeFPCR(v uint64)\nTEXT ·writeFPCR(SB), NOSPLIT, $0-8\n")
	f.ins("MOVD v+0(FP), R0")
	f.ins("MOVD R0, FPCR")
	f.ins("RET")
}

// gp returns a free general register.
func (f *fn) gp() gp {
	f.numGP++
	return usableGP[f.numGP-1]
}

func (f *fn) gps(n int) []gp { return args.Several(n, f.gp) }

// vec returns a free vector register.
func (f *fn) vec() vec {
	if f.numVec > 31 {
		panic("out of vector registers")
	}
	f.numVec++
	return f.numVec - 1
}

func (f *fn) vecs(n int) []vec { return args.Several(n, f.vec) }

// grid returns so many rows of free registers.
func (f *fn) grid(rows, width int) [][]vec {
	return args.Several(rows, func() []vec { return f.vecs(width) })
}

// ins emits one instruction in Go's syntax.
func (f *fn) ins(format string, a ...any) {
	fmt.Fprintf(&f.asm, "\t"+format+"\n", a...)
}

func (f *fn) label(name string) { fmt.Fprintf(&f.asm, "\n%s:\n", name) }

// word emits an encoded instruction with its text.
func (f *fn) word(w uint32, text string) { f.ins("WORD $0x%08x // %s", w, text) }

// op emits op Vd, Vn, Vm.
func (f *fn) op(op string, d, n, m vec) { f.word(same(op, d, n, m)) }

// op2 emits op Vd, Vn.
func (f *fn) op2(op string, d, n vec) { f.word(two(op, d, n)) }

// lane emits op Vd, Vn, Vm[lane].
func (f *fn) lane(op string, d, n, m vec, lane int) { f.word(element(op, d, n, m, uint32(lane))) }

// halves emits op Vd.4S, Vn.8H, Vm.8H on bf16.
func (f *fn) halves(op string, d, n, m vec) { f.word(halves(op, d, n, m)) }

// convert emits a conversion of n to d.
func (f *fn) convert(op string, d, n vec) { f.word(converted(op, d, n)) }

// narrow rounds the four floats of lo, and of hi, to the lower and the upper half of d,
// which may be lo.
func (f *fn) narrow(d, lo, hi vec) {
	f.convert("bfcvtn", d, lo)
	f.convert("bfcvtn2", d, hi)
}

// zip emits the lower (1) or upper (2) halves of a and b, interleaved, to d: S4, H8 or D2.
func (f *fn) zip(half int, lanes string, d, a, b vec) {
	f.ins("VZIP%d V%d.%s, V%d.%s, V%d.%s", half, b, lanes, a, lanes, d, lanes)
}

// zero clears registers.
func (f *fn) zero(vs ...vec) {
	for _, v := range vs {
		f.ins("VEOR V%d.B16, V%d.B16, V%d.B16", v, v, v)
	}
}

// maskPositive sets x = mask > 0 ? x : 0 and destroys mask.
func (f *fn) maskPositive(x, mask vec) {
	f.op2("fcmgt0", mask, mask)
	f.ins("VAND V%d.B16, V%d.B16, V%d.B16", mask, x, x)
}

// load reads consecutive quads from base+disp.
func (f *fn) load(vs []vec, base gp, disp int) {
	for len(vs) > 1 {
		f.ins("FLDPQ %d(%v), (F%d, F%d)", disp, base, vs[0], vs[1])
		vs, disp = vs[2:], disp+2*quadBytes
	}
	if len(vs) == 1 {
		f.ins("FMOVQ %d(%v), F%d", disp, base, vs[0])
	}
}

// store writes consecutive quads to base+disp.
func (f *fn) store(vs []vec, base gp, disp int) {
	for len(vs) > 1 {
		f.ins("FSTPQ (F%d, F%d), %d(%v)", vs[0], vs[1], disp, base)
		vs, disp = vs[2:], disp+2*quadBytes
	}
	if len(vs) == 1 {
		f.ins("FMOVQ F%d, %d(%v)", vs[0], disp, base)
	}
}

// into loads a field into a register.
func (f *fn) into(r gp, field string) {
	f.ins("MOVD %d(%v), %v", args.Offset(f.spec, field), f.args, r)
}

// field loads a field into a new register.
func (f *fn) field(name string) gp {
	r := f.gp()
	f.into(r, name)
	return r
}

// broadcast loads a float32 field into all lanes of a new vector.
func (f *fn) broadcast(tmp gp, name string) vec {
	v := f.vec()
	f.into(tmp, name)
	f.ins("VDUP %v, V%d.S4", tmp, v)
	return v
}

// add emits d = a + b.
func (f *fn) add(d, a, b gp) { f.ins("ADD %v, %v, %v", b, a, d) }

// advance emits r += n for each register.
func (f *fn) advance(n int, rs ...gp) {
	for _, r := range rs {
		f.ins("ADD $%d, %v, %v", n, r, r)
	}
}

func (f *fn) move(dst, src gp) { f.ins("MOVD %v, %v", src, dst) }

// loop emits body n times, n > 0 in a register that it counts down.
func (f *fn) loop(label string, n gp, body func()) {
	f.label(label)
	body()
	f.ins("SUBS $1, %v, %v", n, n)
	f.ins("BNE %s", label)
}

// chunked emits chunk for every full size of n in a register, then one for each
// that is left; both advance their pointers. It counts n down.
func (f *fn) chunked(label string, n gp, size int, chunk, one func()) {
	f.ins("SUBS $%d, %v, %v", size, n, n)
	f.ins("BLT %stail", label)
	f.label(label + "loop")
	chunk()
	f.ins("SUBS $%d, %v, %v", size, n, n)
	f.ins("BGE %sloop", label)
	f.label(label + "tail")
	f.ins("ADDS $%d, %v, %v", size, n, n)
	f.ins("BEQ %sdone", label)
	f.loop(label+"one", n, one)
	f.label(label + "done")
}
