//go:build amd64 || arm64

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
			np := panelsNext(cp/panel - p)
			for t := range 9 {
				dst := grad[t*co*cp+p*panel:]
				gradBlock(&g, dst, d, pad[(t/3*10+t%3)*cp+p*panel:], co, np, 64)
			}
			p += np
		}
	}
}

// matMulWeightGradVec adds dy^T*x to the columns of dw that fill panels and
// returns their number.
func matMulWeightGradVec(dw, x, dy []float32, rows, k, n int) int {
	g := gradArgs{
		dstRow: uintptr(k * f32), aStep: uintptr(n * f32), bStep: uintptr(k * f32),
		outer: 1,
	}
	const block = 256 // rows whose sum stays in registers
	for r := 0; r < rows && n > 0; r += block {
		m := min(block, rows-r)
		g.inner = uintptr(m)
		for p := 0; p < k/panel; {
			np := panelsNext(k/panel - p)
			gradBlock(&g, dw[p*panel:], dy[r*n:], x[r*k+p*panel:], n, np, m)
			p += np
		}
	}
	return k / panel * panel
}

// gradBlock runs all n rows of np panels: full blocks of rows, then single rows.
// dst, a and b are the first elements; length is the length of the sum.
func gradBlock(g *gradArgs, dst, a, b []float32, n, np, length int) {
	k := *g // a copy, so that nothing flows into the caller's struct and escapes
	h := gradRows()
	dstRow := int(g.dstRow) / f32
	full := n / h
	step := max(1, maxCallMACs/(h*np*panel*length)) // blocks a call
	for i := 0; i < full; i += step {
		k.dst, k.a, k.b = at(dst, i*h*dstRow), at(a, i*h), at(b, 0)
		k.blocks = uintptr(min(step, full-i))
		callGrad(&k, np)
	}
	if full*h == n {
		return
	}
	k.dst, k.a, k.b = at(dst, full*h*dstRow), at(a, full*h), at(b, 0)
	k.blocks = uintptr(n - full*h)
	callGrad1(&k, np)
}
