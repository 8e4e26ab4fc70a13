package kernels

import (
	"fmt"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// The geometry of se.cu.
const (
	seThreads = 256
	seChunk   = 16 // terms of a sum in shared memory
	seParts   = 8  // of the longer sums
	// seWide is the number of boards from which on 16 a block fill a large device;
	// below it are 4.
	seWide = 2048
)

// seLaunch is a squeeze-and-excitation kernel.
func seLaunch(kernel string, boards int, args []byte) Launch {
	each := 4
	if boards >= seWide {
		each = 16
	}
	return Launch{
		Kernel: fmt.Sprintf("%s_%d", kernel, each),
		Grid:   driver.Dim{X: ceil(boards, each), Y: 1, Z: 1},
		Block:  driver.Dim{X: seThreads, Y: 1, Z: 1},
		Shared: 4 * (seThreads*(seChunk+1) + seParts*seChunk*(each|4)),
		Args:   args,
	}
}

// SEForward launches the two small layers and the scale and shift of every board.
func SEForward(a SEForwardArgs) Launch { return seLaunch("se_forward", int(a.Boards), bytesOf(&a)) }

// SEBackward launches their gradients.
func SEBackward(a SEBackwardArgs) Launch { return seLaunch("se_backward", int(a.Boards), bytesOf(&a)) }
