package kernel

// conv3WeightGradVec adds to grad [9][co][cp], board by board: rows are output
// channels (broadcast from dy), columns input channels (from the padded board).
func conv3WeightGradVec(grad, x, dy []float32, boards, ci, co int, pad []float32) {
	clear(pad)
	cp := roundUp(ci, panel)
	g := gradArgs{
		dstRow: uintptr(cp * f32), aStep: uintptr(co * f32), bStep: uintptr(cp * f32),
		inner: 8, outer: 8, aOuter: 0, bOuter: uintptr(2 * cp * f32),
	}
	for b := range boards {
		padBoard(pad, x[b*64*ci:][:64*ci], ci, cp)
		d := dy[b*64*co:][:64*co]
		for p := 0; p < cp/panel; {
			np := vectors().panelsNext(cp/panel - p)
			for t := range 9 {
				dst := grad[t*co*cp+p*panel:]
				gradBlock(&g, dst, d, pad[(t/3*10+t%3)*cp+p*panel:], co, np, 64, FP32)
			}
			p += np
		}
	}
}

// matMulWeightGradVec adds dy^T*x to the columns of dw that fill panels and
// returns their number. It goes over groups of columns and in them over strips of
// a few panels.
func matMulWeightGradVec(dw, x, dy []float32, rows, k, n int, scratch []float32) int {
	full := k / panel * panel
	for r := 0; r < rows && n > 0; r += gradRowBlock {
		m := min(gradRowBlock, rows-r)
		for c := 0; c < full; c += gradGroup {
			g := gradGroupArgs{
				dw: dw[c:], x: x[r*k+c:], dy: dy[r*n:],
				rows: m, k: k, n: n, width: min(gradGroup, full-c),
			}
			g.run(scratch)
		}
	}
	return full
}

// gradGroupArgs is a group of width columns of x [rows][k] and dw [n][k].
type gradGroupArgs struct {
	dw, x, dy         []float32
	rows, k, n, width int
}

// run adds the products of a group. Rows of x lie k floats apart: where k is
// large, the lines of a strip share few sets of the cache (one, where k is a
// multiple of 1024) and would be fetched again for every block of rows of dw. A
// scratch of rows*width floats takes the strips one after the other then.
func (g *gradGroupArgs) run(scratch []float32) {
	a := gradArgs{
		dstRow: uintptr(g.k * f32), aStep: uintptr(g.n * f32), bStep: uintptr(g.k * f32),
		inner: uintptr(g.rows), outer: 1,
	}
	if scratch != nil {
		g.pack(scratch)
	}
	for c := 0; c < g.width; {
		np := vectors().panelsNext((g.width - c) / panel)
		strip := g.x[c:]
		if scratch != nil {
			strip = scratch[c*g.rows:]
			a.bStep = uintptr(np * panel * f32)
		}
		gradBlock(&a, g.dw[c:], g.dy, strip, g.n, np, g.rows, FP32)
		c += np * panel
	}
}

// pack copies the strip of columns c, c+1, ... to dst[c*rows:].
func (g *gradGroupArgs) pack(dst []float32) {
	for r := range g.rows {
		row := g.x[r*g.k:][:g.width]
		for c := 0; c < len(row); {
			w := vectors().panelsNext((len(row)-c)/panel) * panel
			copy(dst[c*g.rows+r*w:][:w], row[c:])
			c += w
		}
	}
}

// gradBlock runs all n rows of np panels: full blocks of rows, then single rows.
// dst, a and b are the first elements; length is the length of the
// sum. In bf16 n is a multiple of gradRows.
func gradBlock(g *gradArgs, dst, a, b []float32, n, np, length int, p Precision) {
	k := *g // a copy, so that nothing flows into the caller's struct and escapes
	v := vectors()
	h := v.gradRows
	dstRow := int(g.dstRow) / f32
	full := n / h
	step := max(1, maxCallMACs/(h*np*panel*length)) // blocks a call
	for i := 0; i < full; i += step {
		k.dst, k.a, k.b = at(dst, i*h*dstRow), at(a, i*h), at(b, 0)
		k.blocks = uintptr(min(step, full-i))
		run(v.grad[p][np], &k)
	}
	if full*h == n {
		return
	}
	k.dst, k.a, k.b = at(dst, full*h*dstRow), at(a, full*h), at(b, 0)
	k.blocks = uintptr(n - full*h)
	run(v.grad1[np], &k)
}
