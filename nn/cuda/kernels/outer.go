package kernels

import (
	"fmt"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// The geometry of outer.cu.
const (
	outerThreads = 512
	outerShared  = 32 << 10
	// outerTiles is the number of blocks from which on tiles of 16x16 weights keep a
	// large device busy; below it they are 8x8.
	outerTiles = 100
)

// Outer launches the weight gradients of small fully connected layers: those of list,
// which a.Layers has on the device.
func Outer(a OuterArgs, list []OuterLayer) Launch {
	grid := func(tile int) (d driver.Dim, blocks int) {
		d.Z = len(list)
		for i := range list {
			x, y := ceil(int(list[i].Columns), tile), ceil(int(list[i].Rows), tile)
			d.X, d.Y, blocks = max(d.X, x), max(d.Y, y), blocks+x*y
		}
		return d, blocks
	}
	tile := 16
	dim, blocks := grid(tile)
	if blocks < outerTiles {
		tile = 8
		dim, _ = grid(tile)
	}
	l := inRow(fmt.Sprintf("outer_%d", tile), dim.X, outerThreads, outerShared, &a)
	l.Grid = dim
	return l
}
