package kernels

import (
	"fmt"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// PolicyLoss returns policy_loss, one warp a row. a.Width is a multiple of 16.
func PolicyLoss(t Type, a PolicyLossArgs) Launch {
	const rows = 8 // a block
	return Launch{
		Kernel: fmt.Sprintf("policy_loss_%v", t),
		Grid:   driver.Dim{X: ceil(int(a.Rows), rows), Y: 1, Z: 1},
		Block:  driver.Dim{X: 32 * rows, Y: 1, Z: 1},
		Args:   bytesOf(&a),
	}
}

// The formulas of ScalarLossArgs.Head.
const (
	LossWDL       = 0 // cross entropy over win, draw, loss: three outputs
	LossValue     = 1 // (tanh(z)-q)^2
	LossMovesLeft = 2 // Huber
)

// MaxTerms is how many terms one head may have.
const MaxTerms = len(ScalarLossArgs{}.Term)

// ScalarLoss returns scalar_loss, one thread a row. a.Width is a multiple of 16.
func ScalarLoss(t Type, a ScalarLossArgs) Launch {
	const rows = 128 // a block
	return Launch{
		Kernel: fmt.Sprintf("scalar_loss_%v", t),
		Grid:   driver.Dim{X: ceil(int(a.Rows), rows), Y: 1, Z: 1},
		Block:  driver.Dim{X: rows, Y: 1, Z: 1},
		Args:   bytesOf(&a),
	}
}
