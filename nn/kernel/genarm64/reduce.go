package main

// genReductions emits softmax and its gradient.
func genReductions(o *output) {
	o.kernel("softmax", "flatArgs", "replaces the panels at y and the one at b by their softmax.", softmax)
	o.kernel("softmaxRows", "normArgs", "replaces rows of y by their softmax.", softmaxRows)
	o.kernel("softmaxRowsBackward", "normArgs", "sets rows of y to x*(u - sum(u*x)).", softmaxRowsBackward)
}

// softmax emits the softmax, in place, of n panels at y and one more at b, which
// the caller fills up with -Inf.
func softmax(f *fn) {
	first, rest, n := f.field("y"), f.field("b"), f.field("n")
	p, left := f.gp(), f.gp()
	softmaxOver(newConstants(f, "zero"), rest, func(label string, quad func(at gp, disp int)) {
		eachQuad(rest, quad)
		f.move(p, first)
		f.move(left, n)
		f.ins("CBZ %v, %sdone", left, label)
		f.loop(label, left, func() {
			eachQuad(p, quad)
			f.advance(panelBytes, p)
		})
		f.label(label + "done")
	})
}

// softmaxRows emits the softmax, in place, of each of the rows.
func softmaxRows(f *fn) {
	row, rows, p, left := f.field("y"), f.field("rows"), f.gp(), f.gp()
	c := newConstants(f, "zero")
	f.loop("row", rows, func() {
		softmaxOver(c, row, func(label string, quad func(at gp, disp int)) {
			f.move(p, row)
			f.into(left, "panels")
			f.loop(label, left, func() {
				eachQuad(p, quad)
				f.advance(panelBytes, p)
			})
		})
		f.move(row, p)
	})
}

// eachQuad emits quad for those of a panel.
func eachQuad(p gp, quad func(at gp, disp int)) {
	for d := 0; d < panelBytes; d += quadBytes {
		quad(p, d)
	}
}

// softmaxOver emits exp(x-m)/sum exp(x-m), m the maximum, in place, where over emits its
// body for every quad, of which one is at first. Sums run within lanes first.
func softmaxOver(c *constants, first gp, over func(label string, quad func(at gp, disp int))) {
	c.scope(func() {
		top, sum, x := c.vec(), c.vec(), c.vec()
		c.load([]vec{top}, first, 0)
		over("max", func(at gp, disp int) {
			c.load([]vec{x}, at, disp)
			c.op("fmax", top, top, x)
		})
		c.op("fmaxp", top, top, top)
		c.op("fmaxp", top, top, top)
		c.zero(sum)
		over("exp", func(at gp, disp int) {
			c.load([]vec{x}, at, disp)
			c.op("fsub", x, x, top)
			c.clamp(x, "expMin", "zero")
			c.exp(x)
			c.store([]vec{x}, at, disp)
			c.op("fadd", sum, sum, x)
		})
		c.op("faddp", sum, sum, sum)
		c.op("faddp", sum, sum, sum)
		c.op("fdiv", sum, c.k("one"), sum)
		over("scale", func(at gp, disp int) {
			c.load([]vec{x}, at, disp)
			c.op("fmul", x, x, sum)
			c.store([]vec{x}, at, disp)
		})
	})
}

// softmaxRowsBackward emits two passes over each row: the sum, and y, which may lie over u.
func softmaxRowsBackward(f *fn) {
	y, u, x, rows := f.field("y"), f.field("u"), f.field("x"), f.field("rows")
	up, xp, left := f.gp(), f.gp(), f.gp()
	acc, uv, xv, sum := f.vecs(panelQuads), f.vecs(panelQuads), f.vecs(panelQuads), f.vec()
	pass := func(label string, body func()) {
		f.move(up, u)
		f.move(xp, x)
		f.into(left, "panels")
		f.loop(label, left, func() {
			f.load(uv, up, 0)
			f.load(xv, xp, 0)
			body()
			f.advance(panelBytes, up, xp)
		})
	}
	f.loop("row", rows, func() {
		f.zero(acc...)
		pass("sum", func() {
			for j, a := range acc {
				f.op("fmla", a, uv[j], xv[j])
			}
		})
		f.total(sum, acc)
		pass("result", func() {
			for j, r := range uv {
				f.op("fsub", r, r, sum)
				f.op("fmul", r, r, xv[j])
			}
			f.store(uv, y, 0)
			f.advance(panelBytes, y)
		})
		f.move(u, up)
		f.move(x, xp)
	})
}
