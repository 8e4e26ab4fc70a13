package main

import "fmt"

// genFlat emits the passes over whole arrays. An operation leaves its result in
// a, or in b where it says so.
func genFlat(o *output) {
	flat(o, "flatReLU", "sets y = max(0, a).", false, func(f *fn, a, _, _, zero vec) vec {
		f.op("fmax", a, a, zero)
		return a
	})
	flat(o, "flatReLUBackward", "sets y = a where b > 0, else 0.", true, func(f *fn, a, b, _, _ vec) vec {
		f.maskPositive(a, b)
		return a
	})
	flat(o, "flatAdd", "sets y = a + b.", true, func(f *fn, a, b, _, _ vec) vec {
		f.op("fadd", a, a, b)
		return a
	})
	flat(o, "flatAxpy", "sets y = b + alpha*a.", true, func(f *fn, a, b, alpha, _ vec) vec {
		f.op("fmla", b, a, alpha)
		return b
	})
	flat(o, "flatScale", "sets y = alpha*a.", false, func(f *fn, a, _, alpha, _ vec) vec {
		f.op("fmul", a, a, alpha)
		return a
	})
}

// genHalf emits the rounding of whole arrays to bf16, and its inverse.
func genHalf(o *output) {
	o.kernel("flatHalf", "flatArgs", "rounds a to bf16, 16 to 8 words.", func(f *fn) {
		y, a, n, x := f.field("y"), f.field("a"), f.field("n"), f.vecs(panelQuads)
		f.loop("panel", n, func() {
			f.load(x, a, 0)
			f.narrow(x[0], x[0], x[1])
			f.narrow(x[2], x[2], x[3])
			f.store([]vec{x[0], x[2]}, y, 0)
			f.advance(panelBytes, a)
			f.advance(panelBytes/2, y)
		})
	})
	o.kernel("flatWiden", "flatArgs", "widens the bf16 numbers a, 8 words to 16.", func(f *fn) {
		y, a, n, x := f.field("y"), f.field("a"), f.field("n"), f.vecs(panelQuads)
		f.loop("panel", n, func() {
			halfRows.load(f, x, a, 0)
			f.store(x, y, 0)
			f.advance(panelBytes/2, a)
			f.advance(panelBytes, y)
		})
	})
}

// flat emits op over quads of a and, if it reads it, b.
func flat(o *output, name, doc string, readsB bool, op func(f *fn, a, b, alpha, zero vec) vec) {
	o.kernel(name, "flatArgs", doc, func(f *fn) {
		y, a, b, n := f.field("y"), f.field("a"), f.field("b"), f.field("n")
		alpha, zero := f.broadcast(f.gp(), "alpha"), f.vec()
		f.zero(zero)
		av, bv, r := f.vecs(panelQuads), f.vecs(panelQuads), make([]vec, panelQuads)
		f.loop("panel", n, func() {
			f.load(av, a, 0)
			if readsB {
				f.load(bv, b, 0)
			}
			for j := range r {
				r[j] = op(f, av[j], bv[j], alpha, zero)
			}
			f.store(r, y, 0)
			f.advance(panelBytes, y, a, b)
		})
	})
}

// genOptimizers emits the optimizer updates.
func genOptimizers(o *output) {
	o.kernel("sgd", "optArgs", "is one step of SGD with Nesterov momentum.", func(f *fn) {
		w, g, m, n, tmp := f.field("w"), f.field("g"), f.field("m"), f.field("n"), f.gp()
		lr, mom, decay := f.broadcast(tmp, "lr"), f.broadcast(tmp, "momentum"), f.broadcast(tmp, "decay")
		wv, gv, mv, nv := f.vecs(panelQuads), f.vecs(panelQuads), f.vecs(panelQuads), f.vecs(panelQuads)
		f.loop("panel", n, func() {
			f.load(wv, w, 0)
			f.load(gv, g, 0)
			f.load(nv, g, 0)
			f.load(mv, m, 0)
			for j := range wv {
				f.op("fmla", gv[j], decay, wv[j]) // g' = g + decay*w
				f.op("fmla", nv[j], decay, wv[j])
				f.op("fmla", nv[j], mom, mv[j]) // m = g' + momentum*m
				f.op("fmla", gv[j], mom, nv[j]) // g' + momentum*m
				f.op("fmls", wv[j], lr, gv[j])
			}
			f.store(nv, m, 0)
			f.store(wv, w, 0)
			f.advance(panelBytes, w, g, m)
		})
	})
	o.kernel("adamw", "optArgs", "is one step of AdamW.", func(f *fn) {
		adamw(f, []string{"lr", "decay", "b1", "c1", "b2", "c2", "eps", "bc1", "bc2"}, func(k map[string]vec, m, _ vec) {
			f.op("fdiv", m, m, k["bc1"])
		})
	})
	o.kernel("nadamw", "optArgs", "is one step of NAdamW.", func(f *fn) {
		adamw(f, []string{"lr", "decay", "b1", "c1", "b2", "c2", "eps", "cm", "cg", "bc2"}, func(k map[string]vec, m, g vec) {
			f.op("fmul", m, m, k["cm"])
			f.op("fmla", m, k["cg"], g)
		})
	})
}

// adamw goes by pairs of quads: its factors, nine or ten, stand in registers. direction
// makes that of the step from the first moment m and the gradient g, in m.
func adamw(f *fn, factors []string, direction func(k map[string]vec, m, g vec)) {
	w, g, m, s, n, tmp := f.field("w"), f.field("g"), f.field("m"), f.field("v"), f.field("n"), f.gp()
	k := map[string]vec{}
	for _, name := range factors {
		k[name] = f.broadcast(tmp, name)
	}
	gv, mv, sv, wv, t := f.vecs(2), f.vecs(2), f.vecs(2), f.vecs(2), f.vecs(2)
	f.loop("panel", n, func() {
		for d := 0; d < panelBytes; d += 2 * quadBytes {
			f.load(gv, g, d)
			f.load(mv, m, d)
			f.load(sv, s, d)
			f.load(wv, w, d)
			f.load(t, w, d)
			for j := range gv {
				f.op("fmul", mv[j], mv[j], k["b1"])
				f.op("fmla", mv[j], k["c1"], gv[j]) // m = b1*m + (1-b1)*g
				f.op("fmul", sv[j], sv[j], k["b2"])
			}
			f.store(mv, m, d)
			for j := range gv {
				f.op("fmls", wv[j], k["decay"], t[j]) // w -= lr*decay*w
				f.op("fmul", t[j], k["c2"], gv[j])
				f.op("fmla", sv[j], t[j], gv[j]) // v = b2*v + (1-b2)*g*g
			}
			f.store(sv, s, d)
			for j := range gv {
				f.op("fdiv", sv[j], sv[j], k["bc2"])
				f.op2("fsqrt", sv[j], sv[j])
				f.op("fadd", sv[j], sv[j], k["eps"])
				direction(k, mv[j], gv[j])
				f.op("fdiv", mv[j], mv[j], sv[j])
				f.op("fmls", wv[j], k["lr"], mv[j])
			}
			f.store(wv, w, d)
		}
		f.advance(panelBytes, w, g, m, s)
	})
}

// peakChains is the number of independent accumulators of the peak kernel: more
// than cover the latency of four pipes.
const peakChains = 24

// genPeak emits rounds of peakChains products on registers.
func genPeak(o *output) {
	peak(o, "peak", "multiply-adds", func(f *fn, acc, x vec) { f.op("fmla", acc, x, x) })
	peak(o, "peakBF16", "products of 2x4 by 4x2 bf16", func(f *fn, acc, x vec) { f.halves("bfmmla", acc, x, x) })
}

func peak(o *output, name, products string, add func(f *fn, acc, x vec)) {
	doc := fmt.Sprintf("runs %d %s a round on registers.", peakChains, products)
	o.kernel(name, "peakArgs", doc, func(f *fn) {
		n, acc, x := f.field("n"), f.vecs(peakChains), f.vec()
		f.zero(append(acc, x)...)
		f.loop("round", n, func() {
			for _, a := range acc {
				add(f, a, x)
			}
		})
	})
}
