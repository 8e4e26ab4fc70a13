package bench

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// ErrOptions is wrapped by every error about what was asked for.
var ErrOptions = errors.New("benchmark options")

// PrecisionAuto is bf16 where the tier has it; of kernels both.
const PrecisionAuto = "auto"

// Bounds of Options. Memory grows with all of them.
const (
	MaxBatch   = 4096
	MaxThreads = 256
)

// Options says what to measure.
type Options struct {
	Arch      nn.Arch
	Batch     int           // positions of an evaluation or of a training step, 1..MaxBatch
	Threads   int           // 1..MaxThreads; inference and kernels: each with its own batch; training: of one step
	Precision string        // PrecisionAuto (or ""), fp32, or bf16; the result says which it was: fp32 where the tier has no bf16
	Duration  time.Duration // of each measurement, about; > 0
}

// Validate says what is out of range or not in this build; the error wraps
// ErrOptions.
func (o *Options) Validate() error {
	if err := o.Arch.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if o.Batch < 1 || o.Batch > MaxBatch {
		return fmt.Errorf("%w: batch %d, want 1 to %d", ErrOptions, o.Batch, MaxBatch)
	}
	return cmp.Or(inRange("threads", o.Threads, 1, MaxThreads), checkDuration(o.Duration), checkPrecision(o.Precision))
}

// inRange refuses a number of things outside a range.
func inRange(what string, n, low, high int) error {
	if n < low || n > high {
		return fmt.Errorf("%w: %d %s, want %d to %d", ErrOptions, n, what, low, high)
	}
	return nil
}

// checkPrecision refuses unknown names.
func checkPrecision(name string) error {
	if name == "" || name == PrecisionAuto {
		return nil
	}
	if _, err := kernel.ParsePrecision(name); err != nil {
		return fmt.Errorf("%w: %w, or %s", ErrOptions, err, PrecisionAuto)
	}
	return nil
}

// Precision returns what a name that Options accepts means in the active tier.
func Precision(name string) kernel.Precision {
	if name == kernel.FP32.String() || !kernel.HasBF16() {
		return kernel.FP32
	}
	return kernel.BF16
}

// precisions returns those that the kernels are measured in.
func (o *Options) precisions() []kernel.Precision {
	p := Precision(o.Precision)
	if p == kernel.BF16 && (o.Precision == "" || o.Precision == PrecisionAuto) {
		return []kernel.Precision{kernel.FP32, kernel.BF16}
	}
	return []kernel.Precision{p}
}

func checkDuration(d time.Duration) error {
	if d <= 0 || d > time.Hour {
		return fmt.Errorf("%w: duration %v, want above 0 and at most 1h", ErrOptions, d)
	}
	return nil
}
