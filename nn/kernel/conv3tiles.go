package kernel

import "math"

// Direct 3x3 convolutions in tiles: see gen/conv3tiles.go for the layouts. A pair of boards
// is rounded to words with a border of zeros and convolved while these are in the cache.
const (
	pairFloats   = 100 * 2 * panel      // words of a block of 32 channels
	pairFirst    = (10 + 1) * 2 * panel // those before the first square
	pairsBytes   = 256 << 10            // of the pairs that go through a convolution together, at most
	gradStep     = 32                   // boards of a step of a weight gradient
	gradSteps    = gradBoards / gradStep
	gradWords    = 64 * panel * panel // of a step and a panel
	gradScratch  = 9 * panel * panel  // the sums of nine taps
	pairCallMACs = 128 << 20          // of a call: some 0.1 ms; a pair of 512 channels has 0.2
)

// direct says whether the active tier convolves ci -> co directly in tiles.
func direct(ci, co int, p Precision) bool { return winograd(ci, co) && inTiles(p.here()) }

// HasPairs says whether convolutions of c channels to as many work on pairs in the active tier:
// activations in bf16 as direct convolutions in tiles read and write them.
func HasPairs(c int, p Precision) bool { return direct(c, c, p) }

// PairsLen returns the length of the pairs of boards of c channels. They must be zeros at first.
func PairsLen(boards, c int) int { return (boards + 1) / 2 * channelBlocks(c) * pairFloats }

// ToPairs rounds x [boards][64][c] to pairs.
func ToPairs(pairs, x []float32, boards, c int) {
	padPairs(pairs[:PairsLen(boards, c)], x[:boards*64*c], boards, c)
}

// ConvPairs is Conv3 with the precision BF16 on pairs, x of ci and y of co channels, to which
// HasPairs applies. act is None or ReLU. sum and squares are as in Conv3Sums, or nil. scratch
// has PairsScratchLen floats of any contents.
func ConvPairs(y, sum, squares, x, packed, bias []float32, boards, ci, co int, act Act, scratch []float32) {
	y, x, packed = y[:PairsLen(boards, co)], x[:PairsLen(boards, ci)], packed[:directPackedLen(ci, co)]
	if boards == 0 {
		return
	}
	a := newConvArgs(packed, bias, scratch[:PairsScratchLen], ci, co, act)
	const block = pairFloats * f32
	a.yBoard, a.yRow, a.yRank, a.yEven, a.yOdd = panelBytes, 2*panelBytes, 4*panelBytes, panelBytes/2, block-panelBytes/2
	a.yPair = uintptr(channelBlocks(co) * block)
	a.convolve(vectors().conv3[1], x, boards, func(first int) {
		a.y = at(y, first/2*channelBlocks(co)*pairFloats+pairFirst)
		if sum != nil {
			a.sum, a.squares = at(sum, first*co), at(squares, first*co)
		}
	})
}

// PairsScratchLen is the scratch length of ConvPairs: the sums of two half boards.
const PairsScratchLen = 2 * 4 * panel * panel

// JoinPairs ends a residual block: x [boards][64][c] and its pairs z become act(gate*z + beta
// + x), rounded in z alone. gate and beta are [boards][c] (SEApply). act is None or ReLU.
func JoinPairs(x, z, gate, beta []float32, boards, c int, act Act) {
	x, z, gate, beta = x[:boards*64*c], z[:PairsLen(boards, c)], gate[:boards*c], beta[:boards*c]
	a := joinArgs{
		xBoard: uintptr(64 * c * f32), xRow: uintptr(c * f32), gateBoard: uintptr(c * f32),
		blocks: uintptr(c / (2 * panel)), half: uintptr(c % (2 * panel) / panel), floor: floorBits(act),
	}
	for b := 0; b < boards; b += 2 {
		a.x, a.z, a.gate, a.beta = at(x, b*64*c), at(z, b/2*channelBlocks(c)*pairFloats), at(gate, b*c), at(beta, b*c)
		run(vectors().join[index(b+1 < boards)], &a)
	}
}

// channelBlocks is how many blocks of 32 channels take c.
func channelBlocks(c int) int { return (c + 2*panel - 1) / (2 * panel) }

// tilePairs is how many pairs of boards go through a convolution of ci channels together.
func tilePairs(ci int) int {
	return max(1, pairsBytes/(channelBlocks(ci)*pairFloats*f32))
}

func directScratchLen(ci int) int {
	return PairsScratchLen + tilePairs(ci)*channelBlocks(ci)*pairFloats
}

func directPackedLen(ci, co int) int { return 9 * channelBlocks(ci) * panel * co }

// directPack packs weights as packConv3 has them, as words [co/16][blocks of 32 input
// channels][3 files][3 ranks][16][16].
func directPack(dst, w []float32, outStride, inStride int, turned bool, ci, co int) {
	if ci%(2*panel) != 0 {
		clear(dst)
	}
	var t tapPanel
	blocks := channelBlocks(ci)
	for o := 0; o < co; o += panel {
		for i := 0; i < ci; i += panel {
			t.gather(w[(o*outStride+i*inStride)*9:], outStride, inStride, turned)
			to := (o/panel*blocks+i/(2*panel))*9*panel*panel + i%(2*panel)/2*panel
			for file := range 3 {
				from := t.first + file*t.plane
				run(vectors().rowWords, &wordArgs{
					x: at(t.taps[:], from), y: at(dst, to+3*file*panel*panel),
					xPair: uintptr(2 * t.row * f32), xOdd: uintptr(t.row * f32), pairs: panel / 2, panels: 1,
					xSquare: uintptr(3 * t.plane * f32), ySquare: panel * panelBytes, squares: 3,
				})
			}
		}
	}
}

// directConv is Conv3 in tiles. sum and squares [boards][co] may be nil.
func directConv(y Stored, sum, squares, x, packed, bias []float32, boards, ci, co int, act Act, scratch []float32) {
	tiles, words := scratch[:PairsScratchLen], scratch[PairsScratchLen:]
	size := uintptr(y.size())
	a := newConvArgs(packed, bias, tiles, ci, co, act)
	a.yPair = 2 * 64 * uintptr(co) * size
	a.yBoard, a.yRow, a.yEven, a.yOdd = 64*uintptr(co)*size, uintptr(co)*size, panel*size, panel*size
	step := 2 * tilePairs(ci)
	for b := 0; b < boards; b += step {
		n := min(step, boards-b)
		padPairs(words, x[b*64*ci:], n, ci)
		a.convolve(vectors().conv3[index(y.half())], words, n, func(first int) {
			a.y = y.at((b + first) * 64 * co)
			if sum != nil {
				a.sum, a.squares = at(sum, (b+first)*co), at(squares, (b+first)*co)
			}
		})
	}
}

// newConvArgs returns what convolutions of all layouts have.
func newConvArgs(packed, bias, scratch []float32, ci, co int, act Act) convArgs {
	return convArgs{
		w: at(packed, 0), bias: optional(bias, 0), scratch: at(scratch, 0),
		blocks: uintptr(channelBlocks(ci)), panels: uintptr(co / panel), xPair: uintptr(pairFloats * channelBlocks(ci) * f32),
		sumBoard: uintptr(co * f32), floor: floorBits(act),
	}
}

// convolve runs the convolution of boards of words by one of kernels: as many pairs as a call
// may take, and a last board alone. place sets where the results from a board on go.
func (a *convArgs) convolve(kernels [2]asm, words []float32, boards int, place func(first int)) {
	most := max(1, pairCallMACs/(2*64*9*2*panel*panel*int(a.blocks*a.panels)))
	for first := 0; first < boards; {
		a.pairs, a.config = uintptr(min(most, (boards-first)/2)), bytesOf(&convConfigs[1])
		of := index(a.pairs > 0)
		if a.pairs == 0 {
			a.pairs, a.config = 1, bytesOf(&convConfigs[0])
		}
		a.x = at(words, first/2*int(a.xPair)/f32)
		place(first)
		run(kernels[of], a)
		first += (of + 1) * int(a.pairs)
	}
}

// padPairs rounds x [boards][64][c] to words of pairs.
func padPairs(words, x []float32, boards, c int) {
	a := padArgs{
		xBoard: uintptr(64 * c * f32), xRow: uintptr(c * f32),
		blocks: uintptr(c / (2 * panel)), half: uintptr(c % (2 * panel) / panel),
	}
	for b := 0; b < boards; b += 2 {
		a.x, a.y = at(x, b*64*c), at(words, b/2*channelBlocks(c)*pairFloats)
		run(vectors().pad[index(b+1 < boards)], &a)
	}
}

// convConfigs are those of one board and of two at a time.
var convConfigs = [2]tileConfig{newConvConfig(1), newConvConfig(2)}

// newConvConfig configures the tiles of convolutions of so many boards at a time.
func newConvConfig(boards int) (c tileConfig) {
	c.palette = 1
	for t := range 8 {
		rows := 8 * boards
		if t >= 5 { // weights
			rows = panel
		}
		c.set(t, rows, panelBytes)
	}
	return c
}

// tileConfig is LDTILECFG's operand (palette 1: 8 tiles of 16 rows by 64 bytes).
type tileConfig struct {
	palette, startRow byte
	_                 [14]byte
	rowBytes          [16]uint16
	rows              [16]byte
}

func (c *tileConfig) set(tile, rows, rowBytes int) {
	c.rows[tile], c.rowBytes[tile] = byte(rows), uint16(rowBytes)
}

// panelBytes is the length of a row of a panel.
const panelBytes = panel * f32

// directGrad is the scratch of a weight gradient in tiles: words of two boards, of the input
// and of the outputs' gradient as [2 steps][channels/16][64 squares][16][16], and a panel of
// the latter turned, [2 steps][64 squares][16 channels][16].
type directGrad struct {
	ci, co                  int
	x, dy, turn, taps, sums []float32
}

func directGradScratchLen(ci, co int) int {
	return gradSteps*gradWords*(ci+co+panel)/panel + gradScratch + 9*co*ci
}

func newDirectGrad(scratch []float32, ci, co int) directGrad {
	cut := func(n int) []float32 {
		part := scratch[:n]
		scratch = scratch[n:]
		return part
	}
	return directGrad{
		ci: ci, co: co, x: cut(gradSteps * gradWords * ci / panel), dy: cut(gradSteps * gradWords * co / panel),
		turn: cut(gradSteps * gradWords), sums: cut(gradScratch), taps: cut(9 * co * ci),
	}
}

// add takes boards, the first of which has the number first.
func (g *directGrad) add(x, dy []float32, first, boards int) {
	for boards > 0 {
		n := min(boards&^1, gradStep-first%gradStep) // boards that fill words of a step
		if first%2 == 1 || boards == 1 {
			n = 1
		}
		addWords(g.x, x, first, n, g.ci)
		addWords(g.dy, dy, first, n, g.co)
		x, dy = x[n*64*g.ci:], dy[n*64*g.co:]
		first, boards = first+n, boards-n
	}
}

// addWords takes boards of one step of x [boards][64][c] to words: one, or an even number
// from an even one on.
func addWords(words, x []float32, first, boards, c int) {
	words = words[first/gradStep*(c/panel)*gradWords+first%gradStep/2*panel:]
	if boards > 1 {
		run(vectors().rowWords, &wordArgs{
			x: at(x, 0), y: at(words, 0), xPair: uintptr(2 * 64 * c * f32), xOdd: uintptr(64 * c * f32),
			xSquare: uintptr(c * f32), ySquare: panel * panelBytes, yPanel: gradWords * f32,
			pairs: uintptr(boards / 2), panels: uintptr(c / panel), squares: 64,
		})
		return
	}
	for o := range c {
		for sq := range 64 {
			w := &words[o/panel*gradWords+sq*panel*panel+o%panel]
			bits := uint32(halfBits(x[sq*c+o]))
			if first%2 == 1 { // beside the board before
				bits = bits<<16 | math.Float32bits(*w)&0xffff
			}
			*w = math.Float32frombits(bits)
		}
	}
}

// sum sets taps, or memory in the scratch where that is nil, to the gradient [9][co][ci] of
// the first boards.
func (g *directGrad) sum(taps []float32, boards int) []float32 {
	if taps == nil {
		taps = g.taps
	}
	g.fill(boards)
	steps := (boards + gradStep - 1) / gradStep
	a := tapArgs{
		config: bytesOf(&convConfigs[1]), scratch: at(g.sums, 0), yRow: uintptr(g.ci * f32), yTap: uintptr(g.co * g.ci * f32),
		a: at(g.turn, 0), bStep: uintptr(g.ci / panel * gradWords * f32), steps: uintptr(steps),
	}
	const callPanels = 16 // of a call: some 0.1 ms
	for o := 0; o < g.co; o += panel {
		for s := range steps {
			dy := g.dy[(s*g.co+o)/panel*gradWords:]
			transposeBlocks(g.turn[s*gradWords:], dy, panel, panel, panel*panel, panel*panel, 64)
		}
		for i := 0; i < g.ci; i += callPanels * panel {
			a.b, a.y = at(g.x, i/panel*gradWords), at(taps, o*g.ci+i)
			a.panels = uintptr(min(callPanels, (g.ci-i)/panel))
			run(vectors().tapGrad, &a)
		}
	}
	return taps
}

// fill sets the words of the last step's missing boards to 0.
func (g *directGrad) fill(boards int) {
	last := boards / gradStep
	used := (boards%gradStep + 1) / 2 * panel
	if used == 0 {
		return
	}
	fill := func(words []float32, c int) {
		for words = words[last*c/panel*gradWords:][:c/panel*gradWords]; len(words) > 0; words = words[panel*panel:] {
			clear(words[used : panel*panel])
		}
	}
	fill(g.x, g.ci)
	fill(g.dy, g.co)
}
