package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/nn/kernel/gen/args"
)

// factors are the constants of the transforms; four share a register, which
// multiplies by element.
var factors = append(slices.Clone(args.Factors), make([]args.Factor, (4-len(args.Factors)%4)%4)...)

// genFactors emits the constants as data.
func genFactors(o *output) {
	o.asm.WriteString("\n")
	for i, f := range factors {
		fmt.Fprintf(&o.asm, "DATA winogradFactors<>+%d(SB)/4, $0x%08x // %s\n", 4*i, math.Float32bits(float32(f.Value)), f.Name)
	}
	fmt.Fprintf(&o.asm, "GLOBL winogradFactors<>(SB), RODATA|NOPTR, $%d\n", 4*len(factors))
}

// transforms emits one-dimensional transforms on vectors. They may destroy their
// inputs; emit takes each result at once and may destroy it.
type transforms struct {
	*fn
	quads []vec // the constants
}

// newTransforms loads the constants; tmp is free.
func newTransforms(f *fn, tmp gp) *transforms {
	t := &transforms{fn: f, quads: f.vecs(len(factors) / 4)}
	f.ins("MOVD $winogradFactors<>(SB), %v", tmp)
	f.load(t.quads, tmp, 0)
	return t
}

// apply emits op d, y, constant.
func (t *transforms) apply(op string, d, y vec, constant string) {
	i := slices.IndexFunc(factors, func(f args.Factor) bool { return f.Name == constant })
	if i < 0 {
		panic("no constant " + constant)
	}
	t.lane(op, d, y, t.quads[i/4], i%4)
}

func (t *transforms) add(d vec, k string, y vec) { t.apply("fmla", d, y, k) } // d += k*y
func (t *transforms) sub(d vec, k string, y vec) { t.apply("fmls", d, y, k) } // d -= k*y

// times returns k*y in a new register.
func (t *transforms) times(k string, y vec) vec {
	r := t.vec()
	t.apply("fmul", r, y, k)
	return r
}

// copy returns x in a new register.
func (t *transforms) copy(x vec) vec {
	r := t.vec()
	t.ins("VMOV V%d.B16, V%d.B16", x, r)
	return r
}

// sum and dif return x + y and x - y in new registers.
func (t *transforms) sum(x, y vec) vec { r := t.vec(); t.op("fadd", r, x, y); return r }
func (t *transforms) dif(x, y vec) vec { r := t.vec(); t.op("fsub", r, x, y); return r }

// scope frees the vector registers that f takes.
func (t *transforms) scope(f func()) {
	n := t.numVec
	f()
	t.numVec = n
}

// both emits the points even + k*odd and even - k*odd.
func (t *transforms) both(i int, even vec, k string, odd vec, emit func(i int, x vec)) {
	minus := t.copy(even)
	t.add(even, k, odd)
	emit(i, even)
	t.sub(minus, k, odd)
	emit(i+1, minus)
}

// outside is an input off the board: zero.
const outside = vec(99)

// input is B^T d: 6 values of the input, of which d[0] or d[5] may be outside, to
// 6 points, rounded as on amd64.
func (t *transforms) input(d []vec, emit func(i int, x vec)) {
	for i, p := range []struct{ other, this string }{{"B2", "A"}, {"A2", "B"}} {
		t.scope(func() {
			even, odd := t.copy(d[4]), t.copy(d[3])
			t.sub(even, p.other, d[2])
			t.sub(odd, p.other, d[1])
			t.both(1+2*i, even, p.this, odd, emit)
		})
	}
	t.sub(d[4], "Sum", d[2])
	if d[0] != outside {
		t.add(d[4], "Product", d[0])
	}
	emit(0, d[4])
	t.scope(func() {
		last := d[5]
		if last == outside {
			last = t.times("Product", d[1])
			t.sub(last, "Sum", d[3])
		} else {
			t.sub(last, "Sum", d[3])
			t.add(last, "Product", d[1])
		}
		emit(5, last)
	})
}

// output is A^T m: 6 points to 4 values, in order.
func (t *transforms) output(m []vec, emit func(i int, x vec)) {
	t.scope(func() {
		sumA, sumB := t.sum(m[1], m[2]), t.sum(m[3], m[4])
		difA, difB := t.dif(m[1], m[2]), t.dif(m[3], m[4])
		t.op("fadd", m[0], m[0], sumA)
		t.op("fadd", m[0], m[0], sumB)
		emit(0, m[0])
		t.scope(func() { one := t.times("A", difA); t.add(one, "B", difB); emit(1, one) })
		t.scope(func() { two := t.times("A2", sumA); t.add(two, "B2", sumB); emit(2, two) })
		t.add(m[5], "A3", difA)
		t.add(m[5], "B3", difB)
		emit(3, m[5])
	})
}

// outputGrad is A y: the gradient of 4 values to that of 6 points.
func (t *transforms) outputGrad(y []vec, emit func(i int, x vec)) {
	for i, p := range []string{"A", "B"} {
		t.scope(func() {
			even, odd := t.copy(y[0]), t.copy(y[1])
			t.add(even, p+"2", y[2])
			t.add(odd, p+"2", y[3])
			t.both(1+2*i, even, p, odd, emit)
		})
	}
	emit(0, y[0])
	emit(5, y[3])
}

// weights is G g: 3 taps to 6 points, rounded as on amd64.
func (t *transforms) weights(g []vec, emit func(i int, x vec)) {
	for i, p := range []string{"A", "B"} {
		t.scope(func() {
			even := t.copy(g[0])
			t.add(even, p+"2", g[2])
			even, odd := t.times("N"+p, even), t.times("N"+p, t.times(p, g[1]))
			minus := t.dif(even, odd)
			emit(1+2*i, t.sum(even, odd))
			emit(2+2*i, minus)
		})
	}
	t.scope(func() { emit(0, t.times("N0", g[0])) })
	emit(5, g[2])
}

// weightGrad is G^T u: the gradient of 6 points to that of 3 taps, in order.
func (t *transforms) weightGrad(u []vec, emit func(i int, x vec)) {
	t.scope(func() {
		sumA, sumB := t.times("NA", t.sum(u[1], u[2])), t.times("NB", t.sum(u[3], u[4]))
		difA, difB := t.times("NA", t.dif(u[1], u[2])), t.times("NB", t.dif(u[3], u[4]))
		t.scope(func() {
			zero := t.sum(sumA, sumB)
			t.add(zero, "N0", u[0])
			emit(0, zero)
		})
		t.scope(func() { one := t.times("A", difA); t.add(one, "B", difB); emit(1, one) })
		t.add(u[5], "A2", sumA)
		t.add(u[5], "B2", sumB)
		emit(2, u[5])
	})
}
