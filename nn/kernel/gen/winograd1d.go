package main

import (
	"fmt"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/chessbrain/chessbrain/nn/kernel/gen/args"
)

// transforms emits one-dimensional transforms on vectors.
type transforms struct {
	v      isa
	mem    map[string]Mem // constants in the data section, shared by both instruction sets
	loaded map[string]reg.VecVirtual
}

// constantData holds what constants were already emitted.
var constantData = map[string]Mem{}

// newTransforms emits the named constants and, where registers abound, loads
// them; call it within a kernel.
func newTransforms(v isa, names ...string) *transforms {
	t := &transforms{v: v, mem: map[string]Mem{}, loaded: map[string]reg.VecVirtual{}}
	for _, n := range names {
		t.mem[n] = constant(n)
		if v.size == 64 {
			t.loaded[n] = v.vec()
			VBROADCASTSS(t.mem[n], t.loaded[n])
		}
	}
	return t
}

func constant(name string) Mem {
	m, ok := constantData[name]
	if !ok {
		i := slices.IndexFunc(args.Factors, func(f args.Factor) bool { return f.Name == name })
		m = ConstData("winograd"+name, U32(math.Float32bits(float32(args.Factors[i].Value))))
		constantData[name] = m
	}
	return m
}

// k returns a constant in all lanes of a register.
func (t *transforms) k(name string) reg.VecVirtual {
	if r, ok := t.loaded[name]; ok {
		return r
	}
	m, ok := t.mem[name]
	if !ok {
		panic(fmt.Sprintf("constant %s was not asked for", name))
	}
	r := t.v.vec()
	VBROADCASTSS(m, r)
	return r
}

// mulAdd returns x + k*y; a nil x or y is zero.
func (t *transforms) mulAdd(x reg.VecVirtual, k string, y reg.VecVirtual) reg.VecVirtual {
	r := t.v.vec()
	switch {
	case y == nil:
		return x
	case x == nil:
		VMULPS(t.k(k), y, r)
	default:
		VMOVAPS(x, r)
		VFMADD231PS(t.k(k), y, r)
	}
	return r
}

// mulSub returns x - k*y; a nil y is zero.
func (t *transforms) mulSub(x reg.VecVirtual, k string, y reg.VecVirtual) reg.VecVirtual {
	if y == nil {
		return x
	}
	r := t.v.vec()
	VMOVAPS(x, r)
	VFNMADD231PS(t.k(k), y, r)
	return r
}

func (t *transforms) add(x, y reg.VecVirtual) reg.VecVirtual {
	r := t.v.vec()
	VADDPS(y, x, r)
	return r
}

func (t *transforms) sub(x, y reg.VecVirtual) reg.VecVirtual {
	r := t.v.vec()
	VSUBPS(y, x, r)
	return r
}

// inputFactors are the constants of input.
var inputFactors = []string{"A", "B", "A2", "B2", "Sum", "Product"}

// input is B^T d: 6 values of the input, of which d[0] or d[5] may be nil (off
// the board), to 6 points. emit takes each result at once, to keep few alive.
func (t *transforms) input(d []reg.VecVirtual, emit func(i int, x reg.VecVirtual)) {
	even, odd := t.mulSub(d[4], "B2", d[2]), t.mulSub(d[3], "B2", d[1])
	emit(1, t.mulAdd(even, "A", odd))
	emit(2, t.mulSub(even, "A", odd))
	even, odd = t.mulSub(d[4], "A2", d[2]), t.mulSub(d[3], "A2", d[1])
	emit(3, t.mulAdd(even, "B", odd))
	emit(4, t.mulSub(even, "B", odd))
	emit(0, t.mulAdd(t.mulSub(d[4], "Sum", d[2]), "Product", d[0]))
	if d[5] == nil {
		x := t.v.vec()
		VMULPS(t.k("Product"), d[1], x)
		VFNMADD231PS(t.k("Sum"), d[3], x)
		emit(5, x)
		return
	}
	emit(5, t.mulAdd(t.mulSub(d[5], "Sum", d[3]), "Product", d[1]))
}

// outputFactors are the constants of output.
var outputFactors = []string{"A", "B", "A2", "B2", "A3", "B3"}

// output is A^T m: 6 points to 4 values.
func (t *transforms) output(m []reg.VecVirtual, emit func(i int, x reg.VecVirtual)) {
	sumA, sumB := t.add(m[1], m[2]), t.add(m[3], m[4])
	difA, difB := t.sub(m[1], m[2]), t.sub(m[3], m[4])
	emit(0, t.add(t.add(m[0], sumA), sumB))
	emit(1, t.mulAdd(t.mulAdd(nil, "A", difA), "B", difB))
	emit(2, t.mulAdd(t.mulAdd(nil, "A2", sumA), "B2", sumB))
	emit(3, t.mulAdd(t.mulAdd(m[5], "A3", difA), "B3", difB))
}

// outputGradFactors are the constants of outputGrad.
var outputGradFactors = []string{"A", "B", "A2", "B2"}

// outputGrad is A y: the gradient of 4 values to that of 6 points.
func (t *transforms) outputGrad(y []reg.VecVirtual, emit func(i int, x reg.VecVirtual)) {
	emit(0, y[0])
	even, odd := t.mulAdd(y[0], "A2", y[2]), t.mulAdd(y[1], "A2", y[3])
	emit(1, t.mulAdd(even, "A", odd))
	emit(2, t.mulSub(even, "A", odd))
	even, odd = t.mulAdd(y[0], "B2", y[2]), t.mulAdd(y[1], "B2", y[3])
	emit(3, t.mulAdd(even, "B", odd))
	emit(4, t.mulSub(even, "B", odd))
	emit(5, y[3])
}

// weightFactors are the constants of weights and weightGrad.
var weightFactors = []string{"A", "B", "A2", "B2", "N0", "NA", "NB"}

// weights is G g: 3 taps to 6 points.
func (t *transforms) weights(g []reg.VecVirtual, emit func(i int, x reg.VecVirtual)) {
	emit(0, t.mulAdd(nil, "N0", g[0]))
	for i, p := range []string{"A", "B"} {
		even := t.mulAdd(nil, "N"+p, t.mulAdd(g[0], p+"2", g[2]))
		odd := t.mulAdd(nil, "N"+p, t.mulAdd(nil, p, g[1]))
		emit(1+2*i, t.add(even, odd))
		emit(2+2*i, t.sub(even, odd))
	}
	emit(5, g[2])
}

// weightGrad is G^T u: the gradient of 6 points to that of 3 taps.
func (t *transforms) weightGrad(u []reg.VecVirtual, emit func(i int, x reg.VecVirtual)) {
	sumA, sumB := t.mulAdd(nil, "NA", t.add(u[1], u[2])), t.mulAdd(nil, "NB", t.add(u[3], u[4]))
	difA, difB := t.mulAdd(nil, "NA", t.sub(u[1], u[2])), t.mulAdd(nil, "NB", t.sub(u[3], u[4]))
	emit(0, t.add(t.mulAdd(sumA, "N0", u[0]), sumB))
	emit(1, t.mulAdd(t.mulAdd(nil, "A", difA), "B", difB))
	emit(2, t.mulAdd(t.mulAdd(u[5], "A2", sumA), "B2", sumB))
}
