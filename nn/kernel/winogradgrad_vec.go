package kernel

func winogradGradScratchLen(ci, co int, p Precision) int {
	tiles := words(gradBoards*boardTiles, p)
	return tempFloats + points*(tiles*(ci+co)+2*planePad) + points*(co*ci+planePad) + 9*co*ci
}

// winogradGrad is the scratch of a weight gradient: the points of up to
// gradBoards boards and of their outputs' gradients, and the sums of products.
// In bf16 a word holds two tiles, and runOf says how many words stand together.
type winogradGrad struct {
	ci, co                 int
	precision              Precision
	temp, v, d, sums, grad []float32
	vPlane, dPlane         int // floats of a plane of v and d
}

func newWinogradGrad(scratch []float32, ci, co int, p Precision) winogradGrad {
	rows := words(gradBoards*boardTiles, p)
	g := winogradGrad{ci: ci, co: co, precision: p, vPlane: rows*ci + planePad, dPlane: rows*co + planePad}
	cut := func(n int) []float32 {
		part := scratch[:n]
		scratch = scratch[n:]
		return part
	}
	g.temp, g.v, g.d = cut(tempFloats), cut(points*g.vPlane), cut(points*g.dPlane)
	g.sums, g.grad = cut(points*(co*ci+planePad)), cut(9*co*ci)
	return g
}

// winogradGradAdd transforms boards to the places from first on.
func winogradGradAdd(scratch, x, dy []float32, first, boards, ci, co int, p Precision) {
	g := newWinogradGrad(scratch, ci, co, p)
	k, step := vectors(), words(boardTiles, p) // rows of a board
	input := winogradArgs{
		srcRow: uintptr(ci * f32), srcBoard: uintptr(64 * ci * f32), temp: at(g.temp, 0), n: uintptr(ci / k.lanes),
		dstRow: uintptr(ci * f32), dstPlane: uintptr(g.vPlane * f32), dstBoard: uintptr(step * ci * f32),
	}
	output := winogradArgs{
		srcRow: uintptr(co * f32), srcBoard: uintptr(64 * co * f32), temp: at(g.temp, 0), n: uintptr(co / k.lanes),
		dstRow: uintptr(co * f32), dstPlane: uintptr(g.dPlane * f32), dstBoard: uintptr(step * co * f32),
	}
	for b := 0; b < boards; b += callBoards {
		n, row := uintptr(min(callBoards, boards-b)), (first+b)*step
		input.src, input.dst, input.boards = at(x, b*64*ci), at(g.v, row*ci), n
		overBoards(k.gradInput[p], &input)
		output.src, output.dst, output.boards = at(dy, b*64*co), at(g.d, row*co), n
		overBoards(k.gradOutput[p], &output)
	}
}

// winogradGradSum sets taps, or memory in scratch where taps is nil, to the
// gradient [9][co][ci] of the first boards: their points' products, summed over
// all tiles and transformed back.
func winogradGradSum(taps, scratch []float32, boards, ci, co int, p Precision) []float32 {
	g := newWinogradGrad(scratch, ci, co, p)
	g.products(words(boards*boardTiles, p))
	if taps != nil {
		g.grad = taps
	}
	g.transform()
	return g.grad
}

// products computes sums [36][co][ci]: for each point the sum over rows of d's
// row [co] times v's row [ci].
func (g *winogradGrad) products(rows int) {
	k := vectors()
	plane, together := g.co*g.ci+planePad, runOf(g.precision)
	for i := 0; i < g.ci; {
		np := min(k.pointPanels, (g.ci-i)/panel)
		a := pointGradArgs{
			dstRow: uintptr(g.ci * f32), aStep: uintptr(g.co * f32), bStep: uintptr(g.ci * f32),
			dstPoint: uintptr(plane * f32), aPoint: uintptr(g.dPlane * f32), bPoint: uintptr(g.vPlane * f32),
			length: uintptr(rows), blocks: uintptr(g.co / k.gradRows),
		}
		step := max(1, maxCallMACs/(rows*g.co*np*panel))
		for q := 0; q < points; q += step {
			a.dst, a.a, a.b = at(g.sums, q*plane+i), at(g.d, q*g.dPlane), at(g.v, q*g.vPlane+i*together)
			a.points = uintptr(min(step, points-q))
			sumPoints(&a, np, g.precision)
		}
		i += np * panel
	}
}

// transform takes sums [36][co][ci] to grad [9][co][ci].
func (g *winogradGrad) transform() {
	const maxSlices = 2048 // of a call
	k, size := vectors(), g.co*g.ci
	n := size / k.lanes
	for i := 0; i < n; i += maxSlices {
		a := winogradArgs{
			src: at(g.sums, i*k.lanes), srcPlane: uintptr((size + planePad) * f32),
			dst: at(g.grad, i*k.lanes), dstPlane: uintptr(size * f32),
			temp: at(g.temp, 0), n: uintptr(min(maxSlices, n-i)),
		}
		run(k.weightGrad, &a)
	}
}

// sumPoints computes sums of outer products of points, np panels wide, as multiplyPoints
// its products.
func sumPoints(a *pointGradArgs, np int, p Precision) {
	k := vectors()
	if f := k.pointGrad[p][np]; f != nil {
		run(f, a)
		return
	}
	g := gradArgs{
		dstRow: a.dstRow, aStep: a.aStep, bStep: a.bStep,
		inner: a.length, outer: 1, blocks: a.blocks,
	}
	for q := range a.points {
		g.dst, g.a, g.b = ahead(a.dst, q*a.dstPoint), ahead(a.a, q*a.aPoint), ahead(a.b, q*a.bPoint)
		run(k.gradSet, &g)
	}
}
