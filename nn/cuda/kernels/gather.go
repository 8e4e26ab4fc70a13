package kernels

import "github.com/chessbrain/chessbrain/nn/cuda/driver"

// WindowMoves is the legal moves that a row of a window has room for: ROW_MOVES of
// gather.cu.
const WindowMoves = 256

// Gather returns gather, one warp a row.
func Gather(a GatherArgs) Launch {
	const rows = 8 // a block
	return Launch{
		Kernel: "gather",
		Grid:   driver.Dim{X: ceil(int(a.Rows), rows), Y: 1, Z: 1},
		Block:  driver.Dim{X: 32 * rows, Y: 1, Z: 1},
		Args:   bytesOf(&a),
	}
}
