package main

// genLayerNorm emits layer norms of rows of whole panels.
func genLayerNorm(o *output) {
	o.kernel("layerNorm", "normArgs", "normalises rows of alpha*x.", func(f *fn) { layerNorm(f, false) })
	o.kernel("layerNormSkip", "normArgs", "normalises rows of alpha*x + skip.", func(f *fn) { layerNorm(f, true) })
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
	mean := func(d vec) { // of the numbers that acc sums up
		f.op("fadd", acc[0], acc[0], acc[1])
		f.op("fadd", acc[2], acc[2], acc[3])
		f.op("fadd", d, acc[0], acc[2])
		f.op("faddp", d, d, d)
		f.op("faddp", d, d, d)
		f.op("fmul", d, d, inverse)
	}
	f.loop("row", rows, func() {
		f.zero(acc...)
		pass("sum", inputs, func() {
			f.load(t, inputs[0], 0)
			if skip {
				f.load(z, inputs[1], 0)
			}
			for j := range z {
				if skip {
					f.op("fmla", z[j], t[j], alpha)
				} else {
					f.op("fmul", z[j], t[j], alpha)
				}
				f.op("fadd", acc[j], acc[j], z[j])
			}
			f.store(z, y, 0)
		})
		mean(m)
		f.zero(acc...)
		pass("squares", nil, func() {
			f.load(z, y, 0)
			for j := range z {
				f.op("fsub", z[j], z[j], m)
				f.op("fmla", acc[j], z[j], z[j])
			}
		})
		mean(scale)
		f.op("fadd", scale, scale, eps)
		f.op2("fsqrt", scale, scale)
		f.op("fdiv", scale, one, scale)
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
