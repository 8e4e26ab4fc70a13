package kernel

import "unsafe"

// NEON has the fp32 transforms, a quad of channels at a time, and multiplies
// points with the kernels of MatMul: a product of a point is one call.

// lanes is the number of channels of a transform's slice.
func lanes() int { return 4 }

// pointPanels returns how many panels the wider products of points take.
func pointPanels() int { return 1 }

// callWinogradWeights transforms weights.
func callWinogradWeights(a *winogradArgs, _ Precision) { winogradWeightsNEON(bytesOf(a)) }

// board returns the arguments of board b alone, which is what the kernels take.
func (a *winogradArgs) board(b uintptr) winogradArgs {
	one := *a
	one.src, one.dst = ahead(a.src, b*a.srcBoard), ahead(a.dst, b*a.dstBoard)
	if a.sum != nil {
		one.sum, one.squares = ahead(a.sum, b*a.sumBoard), ahead(a.squares, b*a.sumBoard)
	}
	return one
}

// callWinogradInput transforms boards.
func callWinogradInput(a *winogradArgs, _ Precision) {
	for b := range a.boards {
		one := a.board(b)
		winogradInputNEON(bytesOf(&one))
	}
}

// callPoints computes the products of points, one panel wide.
func callPoints(a *pointArgs, _ int, _ Precision) {
	const high, low = 8, 4 // rows of a tile
	g := gemmArgs{
		xRow: a.xRow, yRow: a.yRow, xTile: high * a.xRow, yTile: high * a.yRow,
		segs: 1, kseg: a.k, floor: floorBits(None),
	}
	whole := a.rows / high
	for p := range a.points {
		g.x, g.y, g.w = ahead(a.x, p*a.xPoint), ahead(a.y, p*a.yPoint), ahead(a.w, p*a.wPoint)
		if whole > 0 {
			g.tiles = whole
			gemm8x16NEON(bytesOf(&g))
		}
		if a.rows%high != 0 {
			g.x, g.y, g.tiles = ahead(g.x, whole*g.xTile), ahead(g.y, whole*g.yTile), 1
			gemm4x16NEON(bytesOf(&g))
		}
	}
}

// ahead returns the pointer n bytes on, within the same slice.
func ahead(p *float32, n uintptr) *float32 { return (*float32)(unsafe.Add(unsafe.Pointer(p), n)) }

// callWinogradOutput transforms the points of boards to their squares, with sums
// where a asks for them.
func callWinogradOutput(a *winogradArgs, _ bool) {
	for b := range a.boards {
		one := a.board(b)
		if a.sum != nil {
			winogradOutputSumsNEON(bytesOf(&one))
		} else {
			winogradOutputNEON(bytesOf(&one))
		}
	}
}

// callGradInput transforms boards for a weight gradient.
func callGradInput(a *winogradArgs, p Precision) { callWinogradInput(a, p) }

// callGradOutput transforms the gradient of boards' outputs.
func callGradOutput(a *winogradArgs, _ Precision) {
	for b := range a.boards {
		one := a.board(b)
		winogradOutputGradNEON(bytesOf(&one))
	}
}

// inTiles says that products are not made in tiles.
func inTiles(Precision) bool { return false }

// productsInTiles returns false.
func productsInTiles(*winogradGrad, int) bool { return false }

// callPointGrad computes sums of outer products of points, one panel wide.
func callPointGrad(a *pointGradArgs, _ int, _ Precision) {
	g := gradArgs{
		dstRow: a.dstRow, aStep: a.aStep, bStep: a.bStep,
		inner: a.length, outer: 1, blocks: a.blocks,
	}
	for p := range a.points {
		g.dst, g.a, g.b = ahead(a.dst, p*a.dstPoint), ahead(a.a, p*a.aPoint), ahead(a.b, p*a.bPoint)
		gradSet4x16NEON(bytesOf(&g))
	}
}

// callWinogradWeightGrad transforms the gradient of weights.
func callWinogradWeightGrad(a *winogradArgs) { winogradWeightGradNEON(bytesOf(a)) }
