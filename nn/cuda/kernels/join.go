package kernels

import "github.com/chessbrain/chessbrain/nn/cuda/driver"

// The geometry of boardrows.cuh.
const (
	vectorBytes  = 16 // of one access
	rowLanes     = 8  // threads that share a board's squares
	maxRowGroups = 32 // accesses of a row in one block
)

// boardGrid returns grid and block of a kernel over activations [boards*64][padded].
// A thread has 8 squares of one group of channels, 16 bytes each; a block has about
// 256 threads: some boards where rows are short, a part of the rows where they are long.
func boardGrid(t Type, boards, padded int) (grid, block driver.Dim) {
	groups := padded * t.Size() / vectorBytes
	parts := ceil(groups, maxRowGroups)
	width := ceil(groups, parts)
	together := maxRowGroups / width
	return driver.Dim{X: ceil(boards, together), Y: parts, Z: 1}, driver.Dim{X: width, Y: rowLanes, Z: together}
}

// Join launches y = act(z*scale + shift + x).
func Join(t Type, a JoinArgs) Launch {
	grid, block := boardGrid(t, int(a.Boards), int(a.Padded))
	return Launch{Kernel: "join_" + t.String(), Grid: grid, Block: block, Args: bytesOf(&a)}
}

// JoinBackward launches Join's gradient and its sums by board.
func JoinBackward(t Type, a JoinBackwardArgs) Launch {
	grid, block := boardGrid(t, int(a.Boards), int(a.Padded))
	// two sums of every channel that a thread has
	shared := block.X * block.Y * block.Z * 2 * vectorBytes / t.Size() * 4
	return Launch{Kernel: "join_backward_" + t.String(), Grid: grid, Block: block, Shared: shared, Args: bytesOf(&a)}
}
