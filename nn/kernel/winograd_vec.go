package kernel

// Winograd's F(4x4,3x3): a board is 4 tiles of 4x4 outputs, each from 6x6
// inputs. In the transformed domain a tile is 36 points, and the convolution is
// a matrix product for each point: 36*4 products a board instead of 64*9, a
// quarter. See gen/winograd.go for the transforms.
//
// Factors are words: one float32, or two bf16. The points of activations are
// [36][tiles][words of a row], planes a cache line apart from a multiple of the
// page size; weights are [co/16][36][words of ci][16], but see runOf.
const (
	points     = 36
	boardTiles = 4
	// planePad keeps the planes' rows from falling on the same cache sets.
	planePad = panel
	// tempFloats is the scratch of one transform.
	tempFloats = 96 * panel
	// callBoards is how many boards a call transforms at the most.
	callBoards = 8
)

// winograd says whether the active tier convolves ci -> co by transforms; the
// other sizes go the direct way.
func winograd(ci, co int) bool {
	return ActiveTier() != Generic && ci%panel == 0 && co%panel == 0 && ci > 0 && co > 0
}

// runOf returns how many words of a sum stand together in packed weights and in the points
// of weight gradients, where others have a word of each channel: [k/run][channels][run].
func runOf(p Precision) int {
	if p == BF16 {
		return max(1, vectors().wordRun)
	}
	return 1
}

// words returns how many words n channels take.
func words(n int, p Precision) int {
	if p == BF16 {
		return n / 2
	}
	return n
}

func winogradPackedLen(ci, co int, p Precision) int { return points * words(ci, p) * co }

// winogradPack transforms weights, as packConv3 has them.
func winogradPack(dst, w []float32, outStride, inStride int, turned bool, ci, co int, p Precision) {
	var t tapPanel
	var temp [2 * 18 * panel]float32
	v, k, together := vectors(), words(ci, p), runOf(p)
	for o := 0; o < co; o += panel {
		for i := 0; i < ci; i += panel {
			t.gather(w[(o*outStride+i*inStride)*9:], outStride, inStride, turned)
			for half := 0; half < panel; half += v.lanes {
				a := winogradArgs{
					src: &t.taps[t.first+half], dst: at(dst, o*points*k+words(i, p)*panel+half*together), temp: &temp[0],
					srcRow: uintptr(t.row * f32), srcPlane: uintptr(t.plane * f32),
					dstRow: panel * f32, dstPlane: uintptr(k * panel * f32), n: uintptr(words(panel, p)),
				}
				run(v.weights[p], &a)
			}
		}
	}
}

// tapPanel is the taps from 16 input to 16 output channels, for the transform of
// weights: vectors of output channels, row floats apart for the next input channel
// and plane floats for the next tap. The first tap's are at first.
type tapPanel struct {
	taps              [9 * tapPlane]float32
	turn              [9 * tapPlane]float32 // [output channel][tap][input channel]
	first, row, plane int
}

const tapPlane = panel * panel

// gather takes the taps of w: see winogradPack.
func (t *tapPanel) gather(w []float32, outStride, inStride int, turned bool) {
	switch {
	case !turned && inStride == 1 && transposeBlocks(t.taps[:], w, panel, outStride*9, tapPlane, panel, 9):
		t.first, t.row, t.plane = 0, 9*panel, panel
	case turned && outStride == 1 && transposeBlocks(t.turn[:], w, panel, inStride*9, tapPlane, panel, 9):
		transposeBlocks(t.taps[:], t.turn[:], panel, 9*panel, tapPlane, panel, 9)
		t.first, t.row, t.plane = 8*tapPlane, panel, -tapPlane
	default:
		t.copyTaps(w, outStride, inStride)
		t.first, t.row, t.plane = 0, panel, tapPlane
		if turned {
			t.first, t.plane = 8*tapPlane, -tapPlane
		}
	}
}

// copyTaps sets taps to [tap][input channel][output channel].
func (t *tapPanel) copyTaps(w []float32, outStride, inStride int) {
	for j := range panel {
		for c := range panel {
			taps := (*[9]float32)(w[(j*outStride+c*inStride)*9:])
			to := (*[8*tapPlane + 1]float32)(t.taps[c*panel+j:])
			for i, v := range taps {
				to[i*tapPlane] = v
			}
		}
	}
}

func winogradScratchLen(ci, co int, p Precision) int {
	tiles := Conv3Group * boardTiles
	return tempFloats + points*(tiles*words(ci, p)+planePad) + points*(tiles*2*panel+planePad)
}

// winogradConv is Conv3 in the transformed domain. sum and squares [boards][co]
// may be nil.
func winogradConv(y Stored, sum, squares, x, packed, bias []float32, boards, ci, co int, act Act, p Precision, scratch []float32) {
	for b := 0; b < boards; b += Conv3Group {
		n := min(Conv3Group, boards-b)
		w := winogradGroup{ci: ci, co: co, boards: n, precision: p, temp: scratch[:tempFloats]}
		v := scratch[tempFloats:]
		w.input(v, x[b*64*ci:])
		m := v[points*w.plane(words(ci, p)):]
		w.product(y.Slice(b*64*co, n*64*co), cut(sum, b, n, co), cut(squares, b, n, co), v, m, packed, bias, act)
	}
}

// winogradGroup is a group of boards on its way through a convolution.
type winogradGroup struct {
	ci, co, boards int
	precision      Precision
	temp           []float32
}

// plane returns the floats of a plane whose rows have n.
func (w *winogradGroup) plane(n int) int { return w.boards*boardTiles*n + planePad }

// input transforms x [boards][64][ci] to the points v.
func (w *winogradGroup) input(v, x []float32) {
	k := words(w.ci, w.precision)
	overBoards(vectors().input[w.precision], &winogradArgs{
		src: at(x, 0), dst: at(v, 0), temp: at(w.temp, 0),
		srcRow: uintptr(w.ci * f32), dstRow: uintptr(k * f32), dstPlane: uintptr(w.plane(k) * f32),
		n: uintptr(w.ci / vectors().lanes), boards: uintptr(w.boards),
		srcBoard: uintptr(64 * w.ci * f32), dstBoard: uintptr(boardTiles * k * f32),
	})
}

// product multiplies the points v with the weights and transforms the result,
// a few output channels at a time, whose points m stay in the cache.
func (w *winogradGroup) product(y Stored, sum, squares, v, m, packed, bias []float32, act Act) {
	for o := 0; o < w.co; {
		np := min(vectors().pointPanels, (w.co-o)/panel)
		w.points(v, m, packed, y.Slice(o, y.len()-o), o, np)
		w.output(y, sum, squares, m, bias, act, o, np)
		o += np * panel
	}
}

// points computes the points m of np panels from output channel o on, whose
// squares will be written to y.
func (w *winogradGroup) points(v, m, packed []float32, y Stored, o, np int) {
	k, rows := words(w.ci, w.precision), w.boards*boardTiles
	a := pointArgs{
		xRow: uintptr(k * f32), yRow: uintptr(np * panel * f32),
		xPoint: uintptr(w.plane(k) * f32), yPoint: uintptr(w.plane(np*panel) * f32),
		wPoint: uintptr(k * panel * f32), wPanel: uintptr(points * k * panel * f32),
		k: uintptr(k), rows: uintptr(rows),
	}
	step := max(1, maxCallMACs/(rows*k*np*panel))
	for p := 0; p < points; p += step {
		a.x, a.y, a.w = at(v, p*w.plane(k)), at(m, p*w.plane(np*panel)), at(packed, (o*points+p*panel)*k)
		a.points = uintptr(min(step, points-p))
		// 36 points' tiles fetch more than the group's squares: the addresses run
		// past its end, where a prefetch does no harm.
		a.ahead, a.aheadRow = y.at(min(p*rows/tileRows*4*w.co, y.len()-1)), uintptr(w.co*y.size())
		multiplyPoints(&a, np, w.precision)
	}
}

// output transforms the points m of np panels to y [boards][64][co], from output
// channel o on.
func (w *winogradGroup) output(y Stored, sum, squares, m, bias []float32, act Act, o, np int) {
	a := winogradArgs{
		src: at(m, 0), dst: y.at(o), temp: at(w.temp, 0),
		srcRow: uintptr(np * panel * f32), srcPlane: uintptr(w.plane(np*panel) * f32),
		dstRow: uintptr(w.co * y.size()), bias: optional(bias, o), floor: floorBits(act),
		n: uintptr(np * panel / vectors().lanes), boards: uintptr(w.boards),
		srcBoard: uintptr(boardTiles * np * panel * f32), dstBoard: uintptr(64 * w.co * y.size()),
		sumBoard: uintptr(w.co * f32),
	}
	if sum != nil {
		a.sum, a.squares = at(sum, o), at(squares, o)
	}
	overBoards(vectors().output[index(y.half())][index(sum != nil)], &a)
}

// overBoards runs a transform over the boards of a.
func overBoards(f asm, a *winogradArgs) {
	if !vectors().oneBoard {
		run(f, a)
		return
	}
	one := *a
	for b := range a.boards {
		one.src, one.dst = ahead(a.src, b*a.srcBoard), ahead(a.dst, b*a.dstBoard)
		if a.sum != nil {
			one.sum, one.squares = ahead(a.sum, b*a.sumBoard), ahead(a.squares, b*a.sumBoard)
		}
		run(f, &one)
	}
}

// inTiles says whether products are made in tiles (AMX).
func inTiles(p Precision) bool { return p == BF16 && vectors().pointTiles != nil }

// multiplyPoints computes the products of points, np panels wide. A tier without a kernel
// for all of them takes those of MatMul, a call a point.
func multiplyPoints(a *pointArgs, np int, p Precision) {
	k := vectors()
	if inTiles(p) {
		k.pointTiles(hidden(a), np)
		return
	}
	if f := k.points[p][np]; f != nil {
		run(f, a)
		return
	}
	g := gemmArgs{
		xRow: a.xRow, yRow: a.yRow, xTile: tileRows * a.xRow, yTile: tileRows * a.yRow,
		segs: 1, kseg: a.k, floor: floorBits(None),
	}
	whole := a.rows / tileRows
	for q := range a.points {
		g.x, g.y, g.w = ahead(a.x, q*a.xPoint), ahead(a.y, q*a.yPoint), ahead(a.w, q*a.wPoint)
		if whole > 0 {
			g.tiles = whole
			run(k.gemm8[1], &g)
		}
		if a.rows%tileRows != 0 {
			g.x, g.y, g.tiles = ahead(g.x, whole*g.xTile), ahead(g.y, whole*g.yTile), 1
			run(k.gemm4, &g)
		}
	}
}
