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
	loaded map[string]reg.VecVirtual // the constants asked for; nil where they stay in memory
}

// constantData holds what constants were already emitted, for both instruction sets.
var constantData = map[string]Mem{}

// newTransforms emits the named constants and, where registers abound, loads
// them; call it within a kernel.
func newTransforms(v isa, names ...string) *transforms {
	t := &transforms{v: v, loaded: map[string]reg.VecVirtual{}}
	for _, n := range names {
		t.loaded[n] = nil
		if m := constant(n); v.size == 64 {
			t.loaded[n] = v.result(VBROADCASTSS, m)
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
	r, ok := t.loaded[name]
	switch {
	case !ok:
		panic(fmt.Sprintf("constant %s was not asked for", name))
	case r == nil:
		return t.v.result(VBROADCASTSS, constant(name))
	}
	return r
}

// mulAdd returns x + k*y; a nil x is zero.
func (t *transforms) mulAdd(x reg.VecVirtual, k string, y reg.VecVirtual) reg.VecVirtual {
	if x == nil {
		return t.v.result(VMULPS, t.k(k), y)
	}
	r := t.v.result(VMOVAPS, x)
	VFMADD231PS(t.k(k), y, r)
	return r
}

// mulSub returns x - k*y.
func (t *transforms) mulSub(x reg.VecVirtual, k string, y reg.VecVirtual) reg.VecVirtual {
	r := t.v.result(VMOVAPS, x)
	VFNMADD231PS(t.k(k), y, r)
	return r
}

func (t *transforms) add(x, y reg.VecVirtual) reg.VecVirtual { return t.v.result(VADDPS, y, x) }
func (t *transforms) sub(x, y reg.VecVirtual) reg.VecVirtual { return t.v.result(VSUBPS, y, x) }

// inputFactors are the constants of input.
var inputFactors = []string{"A", "B", "A2", "B2", "Sum", "Product"}

// addTo adds k*y to x in place.
func (t *transforms) addTo(x reg.VecVirtual, k string, y Op) { VFMADD231PS(y, t.k(k), x) }

// subFrom subtracts k*y from x in place.
func (t *transforms) subFrom(x reg.VecVirtual, k string, y Op) { VFNMADD231PS(y, t.k(k), x) }

// input is B^T d: 6 values of the input, of which d[0] or d[5] may be nil (off
// the board), to 6 points. emit takes each result at once, to keep few alive.
func (t *transforms) input(d []reg.VecVirtual, emit func(i int, x reg.VecVirtual)) {
	for pair := range inputPairs {
		points, x := t.inputPair(pair, func(i int) Op { return d[i] })
		emit(points[0], x[0])
		emit(points[1], x[1])
	}
}

// inputPairs is the number of pairs of points that share what they need.
const inputPairs = 3

// inputPair emits two of the six points of the input, which are registers or
// memory, and says which they are. value(0) or value(5) may be nil.
func (t *transforms) inputPair(pair int, value func(i int) Op) (points [2]int, x [2]reg.VecVirtual) {
	if pair == 2 {
		return [2]int{0, 5}, [2]reg.VecVirtual{
			t.inputEnd(value(4), value(2), value(0)), t.inputEnd(value(5), value(3), value(1)),
		}
	}
	near, far := "A", "B2"
	if pair == 1 {
		near, far = "B", "A2"
	}
	even, odd := t.v.copyOf(value(4)), t.v.copyOf(value(3))
	t.subFrom(even, far, value(2))
	t.subFrom(odd, far, value(1))
	plus := t.v.copyOf(even)
	t.addTo(plus, near, odd)
	t.subFrom(even, near, odd)
	return [2]int{1 + 2*pair, 2 + 2*pair}, [2]reg.VecVirtual{plus, even}
}

// inputEnd returns a - Sum*b + Product*c; a nil a or c is zero.
func (t *transforms) inputEnd(a, b, c Op) reg.VecVirtual {
	if a == nil {
		x := t.v.result(VMULPS, c, t.k("Product"))
		t.subFrom(x, "Sum", b)
		return x
	}
	x := t.v.copyOf(a)
	t.subFrom(x, "Sum", b)
	if c != nil {
		t.addTo(x, "Product", c)
	}
	return x
}

// outputFactors are the constants of output.
var outputFactors = []string{"A", "B", "A2", "B2", "A3", "B3"}

// output is A^T m: 6 points to 4 values. It destroys m[5].
func (t *transforms) output(m []reg.VecVirtual, emit func(i int, x reg.VecVirtual)) {
	sumA, sumB := t.add(m[1], m[2]), t.add(m[3], m[4])
	difA, difB := t.sub(m[1], m[2]), t.sub(m[3], m[4])
	for i, x := range t.outputEven(sumA, sumB, m[0]) {
		emit(2*i, x)
	}
	for i, x := range t.outputOdd(difA, difB, m[5]) {
		emit(1+2*i, x)
	}
}

// outputEven returns values 0 and 2 from the sums of points 1 and 2, and 3 and 4.
func (t *transforms) outputEven(sumA, sumB reg.VecVirtual, m0 Op) [2]reg.VecVirtual {
	first := t.v.result(VADDPS, m0, sumA)
	VADDPS(sumB, first, first)
	second := t.v.result(VMULPS, sumA, t.k("A2"))
	t.addTo(second, "B2", sumB)
	return [2]reg.VecVirtual{first, second}
}

// outputOdd returns values 1 and 3 from the differences. It destroys m5.
func (t *transforms) outputOdd(difA, difB, m5 reg.VecVirtual) [2]reg.VecVirtual {
	first := t.v.result(VMULPS, difA, t.k("A"))
	t.addTo(first, "B", difB)
	t.addTo(m5, "A3", difA)
	t.addTo(m5, "B3", difB)
	return [2]reg.VecVirtual{first, m5}
}

// outputHalf returns values half and half+2 of 6 points in memory.
func (t *transforms) outputHalf(half int, mem func(i int) Mem) [2]reg.VecVirtual {
	a, b := t.v.copyOf(mem(1)), t.v.copyOf(mem(3))
	if half == 0 {
		VADDPS(mem(2), a, a)
		VADDPS(mem(4), b, b)
		return t.outputEven(a, b, mem(0))
	}
	VSUBPS(mem(2), a, a)
	VSUBPS(mem(4), b, b)
	return t.outputOdd(a, b, t.v.copyOf(mem(5)))
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
