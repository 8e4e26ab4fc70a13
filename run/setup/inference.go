package setup

import (
	"context"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Inference evaluates positions with one net at a time, on one device. All methods
// may be called at any time by any goroutine.
type Inference interface {
	// Pack prepares net. Evaluators answer with it from their Swap on; those of a GPU
	// all together, as they are one.
	Pack(net *nn.Net) (Packed, error)
	// NewEvaluator returns one goroutine's evaluator, for batches of up to maxBatch
	// positions.
	NewEvaluator(p Packed, maxBatch int) (Evaluator, error)
	Close() error
}

// Packed is a net prepared by an Inference, for its evaluators alone.
type Packed any

// Evaluator fills batches with a net's answers. It is used by one goroutine at a time.
type Evaluator interface {
	Evaluate(ctx context.Context, b *encoding.Batch) error
	// Swap makes p the net of the next Evaluate.
	Swap(p Packed) error
}

// OpenInference opens what a configuration's nets play with. The caller closes it.
func OpenInference(c *config.Config) (Inference, error) {
	p := PlayerPlace(c)
	if p == onCPU {
		return CpuInference{kernelPrecision(playerPrecision(c))}, nil
	}
	return openGPUInference(p, playerPrecision(c))
}

// DescribePlayers names the device and the precision that a configuration's nets play in.
func DescribePlayers(c *config.Config) (device, precision string) {
	return PlayerPlace(c).String(), playerPrecision(c).String()
}

// kernelPrecision is a precision in the words of the CPU's kernels.
func kernelPrecision(p device.Precision) kernel.Precision {
	if p == device.BF16 {
		return kernel.BF16
	}
	return kernel.FP32
}

// CpuInference gives each goroutine an evaluator of its own.
type CpuInference struct{ precision kernel.Precision }

func (c CpuInference) Pack(net *nn.Net) (Packed, error) { return cpu.New(net, c.precision) }

func (c CpuInference) NewEvaluator(p Packed, maxBatch int) (Evaluator, error) {
	return cpuEvaluator{p.(*cpu.Net).NewEvaluator(maxBatch)}, nil
}

func (c CpuInference) Close() error { return nil }

type cpuEvaluator struct{ *cpu.Evaluator }

func (e cpuEvaluator) Swap(p Packed) error { e.Evaluator.Swap(p.(*cpu.Net)); return nil }

// Failed is the evaluator of a net that the device could not take over.
type Failed struct{ Err error }

func (f Failed) Evaluate(context.Context, *encoding.Batch) error { return f.Err }
