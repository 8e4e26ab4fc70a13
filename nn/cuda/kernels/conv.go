package kernels

import (
	"fmt"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// fullConv is how many blocks of a large tile there must be for it to be used: with
// fewer, some multiprocessors of a large GPU would have none, and the small tile,
// which reads the weights four times as often, spreads the work better.
const fullConv = 128

// convTile is a kernel's tile, as in conv.cu.
type convTile struct {
	name            string
	boards, threads int // of a block: boards of 64 rows
	outs            int
	stages          [2]int // of the ring of weights: for 9 taps, for 1
}

// convTiles returns the tiles that there are, the small one last.
func convTiles(t Type, taps int) []convTile {
	if t == F32 {
		return []convTile{{name: "wide", boards: 2, threads: 128, outs: 64}, {name: "small", boards: 1, threads: 64, outs: 64}}
	}
	wide, slim, small := convTile{"wide", 4, 128, 64, [2]int{4, 3}}, convTile{"slim", 4, 128, 48, [2]int{4, 3}}, convTile{"small", 1, 128, 64, [2]int{7, 6}}
	if taps == 1 {
		return []convTile{wide, small}
	}
	return []convTile{wide, slim, small}
}

// Conv returns a convolution over boards (taps 9) or a matrix product (taps 1) as
// ConvArgs says; arrays are aligned to 16 bytes. The input is transformed where
// InScale, InShift or InAct is given. The tile depends on the sizes; results do not
// depend on the tile, nor those of a board on the others. It panics where the sizes
// break ConvArgs' rules.
func Conv(t Type, taps int, a ConvArgs) Launch {
	tiles := convTiles(t, taps)
	best, small := tiles[0], tiles[len(tiles)-1]
	for _, tile := range tiles[:len(tiles)-1] {
		if tile.grid(a).X*tile.outs < best.grid(a).X*best.outs { // fewer outputs that are padding
			best = tile
		}
	}
	if g := best.grid(a); g.X*g.Y < fullConv {
		best = small
	}
	return best.launch(t, taps, a)
}

// grid returns the tiles of outputs and of rows.
func (c convTile) grid(a ConvArgs) driver.Dim {
	return driver.Dim{X: ceil(int(a.Co), c.outs), Y: ceil(int(a.Rows), 64*c.boards), Z: 1}
}

func (c convTile) launch(t Type, taps int, a ConvArgs) Launch {
	grid := c.grid(a)
	boards := a.Rows%64 == 0 || taps == 1 && a.Sums == 0
	if taps != 1 && taps != 9 || a.Rows < 1 || !boards || a.Ci < 1 || a.Ci%16 != 0 || a.Co < 1 || a.Co%16 != 0 || grid.Y > 65535 {
		panic(fmt.Sprintf("kernels: convolution of %d taps, %d rows, %d to %d channels (sums: %v): channels must be padded to 16, and rows of whole boards where taps are 9 or sums are asked for", taps, a.Rows, a.Ci, a.Co, a.Sums != 0))
	}
	l := inRow(fmt.Sprintf("conv_%d_%s_%v", taps, c.name, t), grid.X, c.threads, c.shared(t, taps), &a)
	l.Grid = grid
	return l
}

// shared returns the bytes of shared memory that conv_half.cuh and conv_float.cuh lay out.
func (c convTile) shared(t Type, taps int) int {
	if t == F32 {
		board, weights := 10*12, 3 // floats with the border; taps of a step
		if taps == 1 {
			board, weights = 64, 1
		}
		exchange := c.threads*8*4 + c.boards*2*64
		return 4 * max(2*8*c.boards*board+2*8*weights*c.outs, exchange)
	}
	const zeros, line, patch = 256, 32*2 + 16, 32*72*4 + 2*8*32*16
	inputs, stages := 2, c.stages[0]
	if taps == 1 {
		inputs, stages = c.stages[1], c.stages[1]
	}
	return zeros + max(inputs*c.boards*64*line+stages*c.outs*line, c.threads/32*patch)
}
