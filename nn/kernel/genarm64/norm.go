package main

// genLayerNorm emits layer norms of rows of whole panels and their gradients.
func genLayerNorm(o *output) {
	o.kernel("layerNorm", "normArgs", "normalises rows of alpha*x.", func(f *fn) { layerNorm(f, false) })
	o.kernel("layerNormSkip", "normArgs", "normalises rows of alpha*x + skip.", func(f *fn) { layerNorm(f, true) })
	o.kernel("layerNormBackward", "normArgs", "sets y to the gradient of alpha*x.", func(f *fn) { layerNormBackward(f, false) })
	o.kernel("layerNormBackwardSkip", "normArgs", "sets y to the gradient of alpha*x + skip.", func(f *fn) { layerNormBackward(f, true) })
}

// layerNorm emits three passes over each row: z, which y takes, with its sum; the sum of
// squared differences to the mean; and y.
func layerNorm(f *fn, skip bool) {
	inputs := []gp{f.field("x")}
	if skip {
		inputs = append(inputs, f.field("skip"))
	}
	row, rows, y, gamma, beta, left := f.field("y"), f.field("rows"), f.gp(), f.gp(), f.gp(), f.gp()
	alpha, eps, inverse, one := f.broadcast(left, "alpha"), f.broadcast(left, "eps"), f.broadcast(left, "inverse"), f.broadcast(left, "one")
	acc, z, t, m, scale := f.vecs(panelQuads), f.vecs(panelQuads), f.vecs(panelQuads), f.vec(), f.vec()
	pass := func(label string, ptrs []gp, body func()) {
		f.move(y, row)
		f.into(left, "panels")
		f.loop(label, left, func() {
			body()
			f.advance(panelBytes, append(ptrs, y)...)
		})
	}
	f.loop("row", rows, func() {
		f.zero(acc...)
		pass("sum", inputs, func() {
			f.normInput(z, t, alpha, inputs)
			for j := range z {
				f.op("fadd", acc[j], acc[j], z[j])
			}
			f.store(z, y, 0)
		})
		f.mean(m, inverse, acc)
		f.zero(acc...)
		pass("squares", nil, func() {
			f.load(z, y, 0)
			for j := range z {
				f.op("fsub", z[j], z[j], m)
				f.op("fmla", acc[j], z[j], z[j])
			}
		})
		f.mean(scale, inverse, acc)
		f.inverseRoot(scale, eps, one)
		f.into(gamma, "gamma")
		f.into(beta, "beta")
		pass("result", []gp{gamma, beta}, func() {
			f.load(z, y, 0)
			f.load(t, gamma, 0)
			f.load(acc, beta, 0)
			for j := range z {
				f.op("fsub", z[j], z[j], m)
				f.op("fmul", z[j], z[j], scale)
				f.op("fmla", acc[j], z[j], t[j])
			}
			f.store(acc, y, 0)
		})
		f.move(row, y)
	})
}

// normInput sets z from the pointers of x and, if there is one, skip. t is destroyed.
func (f *fn) normInput(z, t []vec, alpha vec, in []gp) {
	f.load(t, in[0], 0)
	if len(in) > 1 {
		f.load(z, in[1], 0)
	}
	for j := range z {
		if len(in) > 1 {
			f.op("fmla", z[j], t[j], alpha)
		} else {
			f.op("fmul", z[j], t[j], alpha)
		}
	}
}

// mean sets d to the mean of the numbers that acc, 2 or 4 registers, sums up.
func (f *fn) mean(d, inverse vec, acc []vec) {
	f.total(d, acc)
	f.op("fmul", d, d, inverse)
}

// total sets d to the sum of all lanes of acc, 2 or 4 registers, which it destroys.
func (f *fn) total(d vec, acc []vec) {
	for n := len(acc) / 2; n > 1; n /= 2 {
		for i := range n {
			f.op("fadd", acc[i], acc[i], acc[i+n])
		}
	}
	f.op("fadd", d, acc[0], acc[1])
	f.op("faddp", d, d, d)
	f.op("faddp", d, d, d)
}

// inverseRoot sets x = 1/sqrt(x+eps).
func (f *fn) inverseRoot(x, eps, one vec) {
	f.op("fadd", x, x, eps)
	f.op2("fsqrt", x, x)
	f.op("fdiv", x, one, x)
}

// layerNormBackward emits four passes over each row: the sums of z and of its squared
// differences to the mean; those of g and g*xhat, with dgamma and dbeta; and y. Each computes
// z again: y may lie over u, and cannot keep it.
func layerNormBackward(f *fn, skip bool) {
	x, u, y := []gp{f.field("x")}, f.field("u"), f.field("y")
	if skip {
		x = append(x, f.field("skip"))
	}
	rows, left, in, gradient := f.field("rows"), f.gp(), f.gps(len(x)), f.gp()
	gamma, dgamma, dbeta := f.gp(), f.gp(), f.gp()
	alpha, eps, inverse, one := f.broadcast(left, "alpha"), f.broadcast(left, "eps"), f.broadcast(left, "inverse"), f.broadcast(left, "one")
	acc, z, t, g, d := f.vecs(panelQuads), f.vecs(panelQuads), f.vecs(panelQuads), f.vecs(panelQuads), f.vecs(panelQuads)
	m, scale, meanG, meanGX := f.vec(), f.vec(), f.vec(), f.vec()
	pass := func(label string, ptrs []gp, body func()) {
		for i := range x {
			f.move(in[i], x[i])
		}
		f.move(gradient, u)
		f.into(gamma, "gamma")
		f.into(left, "panels")
		f.loop(label, left, func() {
			f.normInput(z, t, alpha, in)
			body()
			f.advance(panelBytes, append(ptrs, in...)...)
		})
	}
	difference := func() { // of z and the mean
		for _, r := range z {
			f.op("fsub", r, r, m)
		}
	}
	factors := func() { // xhat in z, u in g, gamma in t
		difference()
		f.load(g, gradient, 0)
		f.load(t, gamma, 0)
		for _, r := range z {
			f.op("fmul", r, r, scale)
		}
	}
	f.loop("row", rows, func() {
		f.zero(acc...)
		pass("sum", nil, func() {
			for j, r := range z {
				f.op("fadd", acc[j], acc[j], r)
			}
		})
		f.mean(m, inverse, acc)
		f.zero(acc...)
		pass("squares", nil, func() {
			difference()
			for j, r := range z {
				f.op("fmla", acc[j], r, r)
			}
		})
		f.mean(scale, inverse, acc)
		f.inverseRoot(scale, eps, one)
		f.zero(acc...)
		f.into(dgamma, "dgamma")
		f.into(dbeta, "dbeta")
		pass("gradients", []gp{gradient, gamma, dgamma, dbeta}, func() {
			factors()
			f.load(d, dgamma, 0)
			for j := range d {
				f.op("fmla", d[j], g[j], z[j])
			}
			f.store(d, dgamma, 0)
			f.load(d, dbeta, 0)
			for j := range d {
				f.op("fadd", d[j], d[j], g[j])
				f.op("fmul", g[j], g[j], t[j])
				f.op("fadd", acc[j%2], acc[j%2], g[j]) // of g
				f.op("fmla", acc[2+j%2], g[j], z[j])   // of g*xhat
			}
			f.store(d, dbeta, 0)
		})
		f.mean(meanG, inverse, acc[:2])
		f.mean(meanGX, inverse, acc[2:])
		pass("result", []gp{gradient, gamma, y}, func() {
			factors()
			for j := range g {
				f.op("fmul", g[j], g[j], t[j])
				f.op("fsub", g[j], g[j], meanG)
				f.op("fmls", g[j], z[j], meanGX)
				f.op("fmul", g[j], g[j], scale)
			}
			f.store(g, y, 0)
		})
		f.move(u, gradient)
		for i := range x {
			f.move(x[i], in[i])
		}
	})
}
