package kernels

import "github.com/chessbrain/chessbrain/nn/cuda/driver"

// The geometry of norm.cu.
const (
	bnThreads  = 512
	bnChannels = 8 // of a block
)

// bnLaunch is a kernel over [boards][2][padded] sums.
func bnLaunch(kernel string, padded int32, args []byte) Launch {
	return Launch{
		Kernel: kernel,
		Grid:   driver.Dim{X: int(padded) / bnChannels, Y: 1, Z: 1},
		Block:  driver.Dim{X: bnThreads, Y: 1, Z: 1},
		Shared: bnThreads / 32 * 2 * bnChannels * 8,
		Args:   args,
	}
}

// BNForward launches batch norm's statistics.
func BNForward(a BNForwardArgs) Launch { return bnLaunch("bn_forward", a.Padded, bytesOf(&a)) }

// BNBackward launches batch norm's parameter gradients and the coefficients of BNInput.
func BNBackward(a BNBackwardArgs) Launch { return bnLaunch("bn_backward", a.Padded, bytesOf(&a)) }

// BNInput launches the gradient of batch norm's input.
func BNInput(t Type, a BNInputArgs) Launch {
	grid, block := boardGrid(t, int(a.Boards), int(a.Padded))
	return Launch{Kernel: "bn_input_" + t.String(), Grid: grid, Block: block, Args: bytesOf(&a)}
}
