package kernel

// tileRows is the height of a full tile: one rank of squares.
const tileRows = 8

// conv3Vec pads each board to [10][10][ci] in scratch, so that every tap of a
// rank of squares is eight rows at a constant stride, and the three taps of a
// kernel row are one contiguous segment of 3*ci floats.
func conv3Vec(y, x, packed, bias []float32, boards, ci, co int, act Act, scratch []float32) {
	clear(scratch)
	g := gemmArgs{
		segs: 3, kseg: uintptr(3 * ci), xSeg: uintptr(10 * ci * f32),
		wPanel: uintptr(9 * ci * panel * f32), floor: floorBits(act),
	}
	job := gemmJob{packed: packed, bias: bias, n: co, k: 9 * ci, xRow: ci, xTile: 10 * ci, yRow: co}
	for b := range boards {
		padBoard(scratch, x[b*64*ci:][:64*ci], ci, ci)
		job.run(&g, y[b*64*co:][:64*co], scratch, 64)
	}
}

// matMulVec is MatMul with rows of x and y that lie xRow and yRow floats apart.
func matMulVec(y, x, packed, bias []float32, rows, k, n, xRow, yRow int, act Act) {
	g := gemmArgs{
		segs: 1, kseg: uintptr(k),
		wPanel: uintptr(k * panel * f32), floor: floorBits(act),
	}
	job := gemmJob{packed: packed, bias: bias, n: n, k: k, xRow: xRow, xTile: tileRows * xRow, yRow: yRow}
	// Blocks of 64 rows keep x in L2 while the panels pass.
	for r := 0; r < rows; r += 64 {
		m := min(64, rows-r)
		job.run(&g, y[r*yRow:], x[r*xRow:], m)
	}
}

// gemmJob is one block of rows against all panels. Strides are in floats.
type gemmJob struct {
	packed, bias []float32
	n, k         int // columns of y, length of the sum
	xRow, xTile  int // between rows of a tile, between tiles
	yRow         int // between rows of y
	tail         [64 * panel]float32
}

// run computes n columns of y from the tiles of x, rows <= 64; only a block that is
// one tile after another (xTile = 8*xRow) may have rows%8 != 0. Whole panels are
// written in place, a last partial one goes through the tail buffer.
func (j *gemmJob) run(g *gemmArgs, y, x []float32, rows int) {
	full := j.n / panel
	for p := 0; p < full; {
		np := vectors().panelsNext(full - p)
		j.tiles(g, y[p*panel:], j.yRow, x, optional(j.bias, p*panel), rows, p, np)
		p += np
	}
	for p := 0; p < full && rows%tileRows != 0; {
		np := 1
		if full-p >= 4 {
			np = 4
		}
		j.singles(g, y[p*panel:], j.yRow, x, optional(j.bias, p*panel), rows, p, np)
		p += np
	}
	if j.n%panel != 0 {
		j.lastPanel(g, y, x, rows, full)
	}
}

// lastPanel computes a partial panel p.
func (j *gemmJob) lastPanel(g *gemmArgs, y, x []float32, rows, p int) {
	var bias [panel]float32
	if j.bias != nil {
		copy(bias[:], j.bias[p*panel:])
	}
	j.tiles(g, j.tail[:], panel, x, &bias[0], rows, p, 1)
	j.singles(g, j.tail[:], panel, x, &bias[0], rows, p, 1)
	w := j.n % panel
	for r := range rows {
		copy(y[r*j.yRow+p*panel:][:w], j.tail[r*panel:])
	}
}

// tiles computes the full tiles of rows rows and np panels from panel p on; y is
// the first result, yRow its row stride in floats. The arguments are copied, so
// that nothing flows into the caller's struct and escapes.
func (j *gemmJob) tiles(g *gemmArgs, y []float32, yRow int, x []float32, bias *float32, rows, p, np int) {
	a := *g
	a.bias = bias
	a.xRow, a.xTile = uintptr(j.xRow*f32), uintptr(j.xTile*f32)
	a.yRow, a.yTile = uintptr(yRow*f32), uintptr(tileRows*yRow*f32)
	a.w = at(j.packed, p*j.k*panel)
	n := rows / tileRows
	step := max(1, maxCallMACs/(j.k*np*panel*tileRows)) // tiles a call
	for t := 0; t < n; t += step {
		m := uintptr(min(step, n-t))
		a.x, a.y, a.tiles = at(x, t*j.xTile), at(y, t*tileRows*yRow), m
		gemm8(&a, np)
	}
}

// singles computes the rows after the last full tile, one at a time, for np = 1
// or 4 panels from panel p on.
func (j *gemmJob) singles(g *gemmArgs, y []float32, yRow int, x []float32, bias *float32, rows, p, np int) {
	first := rows / tileRows * tileRows
	if first == rows {
		return
	}
	a := *g
	a.bias = bias
	a.xTile, a.yTile = uintptr(j.xRow*f32), uintptr(yRow*f32)
	a.w = at(j.packed, p*j.k*panel)
	a.x, a.y, a.tiles = at(x, first*j.xRow), at(y, first*yRow), uintptr(rows-first)
	run(vectors().gemm1[np], &a)
}

// gemm8 computes full tiles of 8 rows by np panels: of 4 rows twice where there are no
// others.
func gemm8(a *gemmArgs, np int) {
	k := vectors()
	if f := k.gemm8[np]; f != nil {
		run(f, a)
		return
	}
	low := *a
	low.x, low.y = ahead(a.x, 4*a.xRow), ahead(a.y, 4*a.yRow)
	run(k.gemm4, a)
	run(k.gemm4, &low)
}
