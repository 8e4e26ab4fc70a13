package kernels

import "github.com/chessbrain/chessbrain/nn/cuda/driver"

// Threads of the blocks that update.cu is written for, and what a block takes on.
const (
	prepareThreads = 256
	finishThreads  = 1024
	stepThreads    = 256
	weightsAThread = 4
	sumBytes       = 2 * 8 // shared memory a thread where two sums are added up
)

// maxPrepareParts keeps prepare_gradient to one wave of blocks on a large GPU; the
// sums' order, which hangs on it, is the same everywhere.
const maxPrepareParts = 1024

// PrepareGradientParts returns how many parts prepare_gradient of n numbers
// writes: [parts][2] float64. It depends on n alone.
func PrepareGradientParts(n int) int {
	return max(1, min(ceil(n, prepareThreads*weightsAThread), maxPrepareParts))
}

// PrepareGradient returns prepare_gradient.
func PrepareGradient(a PrepareGradientArgs) Launch {
	return Launch{
		Kernel: "prepare_gradient",
		Grid:   driver.Dim{X: PrepareGradientParts(int(a.N)), Y: 1, Z: 1},
		Block:  driver.Dim{X: prepareThreads, Y: 1, Z: 1},
		Shared: prepareThreads * sumBytes,
		Args:   bytesOf(&a),
	}
}

// FinishNorm returns finish_norm; a.Parts is PrepareGradientParts of the gradient.
func FinishNorm(a FinishNormArgs) Launch {
	return Launch{
		Kernel: "finish_norm",
		Grid:   driver.Dim{X: 1, Y: 1, Z: 1},
		Block:  driver.Dim{X: finishThreads, Y: 1, Z: 1},
		Shared: finishThreads * sumBytes,
		Args:   bytesOf(&a),
	}
}

// SGD returns sgd: Nesterov momentum as nn/kernel.SGDNesterov.
func SGD(a StepArgs) Launch { return step("sgd", a) }

// AdamW returns adamw, as nn/kernel.AdamW.
func AdamW(a StepArgs) Launch { return step("adamw", a) }

func step(kernel string, a StepArgs) Launch {
	return Launch{
		Kernel: kernel,
		Grid:   driver.Dim{X: ceil(int(a.N), stepThreads*weightsAThread), Y: 1, Z: 1},
		Block:  driver.Dim{X: stepThreads, Y: 1, Z: 1},
		Args:   bytesOf(&a),
	}
}

// KeepRunning returns keep_running; a.N may be any number above 0.
func KeepRunning(a KeepRunningArgs) Launch {
	return Launch{
		Kernel: "keep_running",
		Grid:   driver.Dim{X: ceil(int(a.N), stepThreads), Y: 1, Z: 1},
		Block:  driver.Dim{X: stepThreads, Y: 1, Z: 1},
		Args:   bytesOf(&a),
	}
}
