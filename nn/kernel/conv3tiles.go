package kernel

import "math"

// Direct 3x3 convolutions in tiles: see gen/conv3tiles.go for the layouts. A pair of boards
// is rounded to words with a border of zeros and convolved while these are in the cache.
const (
	pairFloats   = 100 * 2 * panel // words of a block of 32 channels
	tileScratch  = 2 * 4 * panel * panel
	pairsBytes   = 256 << 10          // of the pairs that go through a convolution together, at most
	gradStep     = 32                 // boards of a step of a weight gradient
	gradWords    = 64 * panel * panel // of a step and a panel
	pairCallMACs = 128 << 20          // of a call: tiles do some 1 500 a nanosecond
)

// direct says whether the active tier convolves ci -> co directly in tiles.
func direct(ci, co int, p Precision) bool { return winograd(ci, co) && inTiles(p.here()) }

// channelBlocks is how many blocks of 32 channels take c.
func channelBlocks(c int) int { return (c + 2*panel - 1) / (2 * panel) }

// tilePairs is how many pairs of boards go through a convolution of ci channels together.
func tilePairs(ci int) int {
	return min(max(1, pairsBytes/(channelBlocks(ci)*pairFloats*f32)), gradBoards)
}

func directScratchLen(ci int) int {
	return tileScratch + tilePairs(ci)*channelBlocks(ci)*pairFloats
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
	v, blocks := vectors(), channelBlocks(ci)
	tiles, words := scratch[:tileScratch], scratch[tileScratch:]
	pad := padArgs{
		xBoard: uintptr(64 * ci * f32), xRow: uintptr(ci * f32),
		blocks: uintptr(ci / (2 * panel)), half: uintptr(ci % (2 * panel) / panel),
	}
	panelSize := uintptr(panel * y.size())
	a := convArgs{
		w: at(packed, 0), bias: optional(bias, 0), scratch: at(tiles, 0),
		blocks: uintptr(blocks), panels: uintptr(co / panel), xPair: uintptr(blocks * pairFloats * f32),
		yBoard: uintptr(64 * co * y.size()), yRow: uintptr(co * y.size()), yEven: panelSize, yOdd: panelSize,
		sumBoard: uintptr(co * f32), floor: floorBits(act),
	}
	step := min(tilePairs(ci), max(1, pairCallMACs/(2*64*9*ci*co)))
	for b := 0; b < boards; b += 2 * step {
		n := min(2*step, boards-b)
		for k := 0; k < n; k += 2 {
			pad.x, pad.y = at(x, (b+k)*64*ci), at(words, k/2*blocks*pairFloats)
			run(v.pad[index(k+1 < n)], &pad)
		}
		for _, part := range [2]struct{ first, boards, of int }{{0, n &^ 1, 2}, {n &^ 1, n & 1, 1}} {
			if part.boards == 0 {
				continue
			}
			first := b + part.first
			a.config, a.pairs = bytesOf(&convConfigs[part.of-1]), uintptr(part.boards/part.of)
			a.x, a.y = at(words, part.first/2*blocks*pairFloats), y.at(first*64*co)
			if sum != nil {
				a.sum, a.squares = at(sum, first*co), at(squares, first*co)
			}
			run(v.conv3[index(y.half())][part.of-1], &a)
		}
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

const (
	gradSteps   = gradBoards / gradStep
	gradScratch = 9 * panel * panel
)

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
