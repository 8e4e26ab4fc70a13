package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/trainer"
)

const (
	netSeed = 1
	// forwardsPerStep is how many forward passes a training step counts as: the
	// forward pass, the gradient of the activations and that of the weights.
	forwardsPerStep = 3
	// learningRate keeps weights finite on rows that repeat for ever.
	learningRate = 1e-4
)

// Infer measures evaluations of o.Threads evaluators of one net, each on its own
// thread and batch, from bit masks to policy, WDL and moves left.
func Infer(o Options) (Speed, error) {
	if err := o.Validate(); err != nil {
		return Speed{}, err
	}
	p := Precision(o.Precision)
	works, err := evaluations(&o, p)
	if err != nil {
		return Speed{}, err
	}
	var best time.Duration
	peak, err := withPeak(p, func() (err error) { best, err = bestTime(o.Duration, works); return err })
	return o.newSpeed(p, best, o.Threads, float64(o.Arch.FLOPs()), peak), err
}

// evaluations makes an evaluator and its batch for each thread.
func evaluations(o *Options, p kernel.Precision) ([]work, error) {
	net, err := cpu.New(nn.Init(o.Arch, netSeed), p)
	if err != nil {
		return nil, err
	}
	works := make([]work, o.Threads)
	for i := range works {
		e, b := net.NewEvaluator(o.Batch), inferenceBatch(o.Batch, i)
		works[i] = func() error { return e.Evaluate(context.Background(), b) }
	}
	return works, nil
}

// Train measures training steps: forward, backward and optimizer (SGD with
// Nesterov momentum, the default losses) of one trainer with o.Threads workers.
// The reading of rows is not counted.
func Train(o Options) (s Speed, err error) {
	if err := o.Validate(); err != nil {
		return s, err
	}
	p, used := Precision(o.Precision), device.FP32
	if p == kernel.BF16 {
		used = device.BF16
	}
	cfg := trainConfig(o.Arch, o.Batch, used)
	cfg.Workers = o.Threads
	t, err := trainer.New(nn.Init(o.Arch, netSeed), cfg)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	var best time.Duration
	peak, err := withPeak(p, func() (err error) { best, err = bestStep(t, &o); return err })
	return o.newSpeed(p, best, 1, forwardsPerStep*float64(o.Arch.FLOPs()), peak), err
}

// trainConfig trains a net in micro-batches of so many rows.
func trainConfig(a nn.Arch, rows int, p device.Precision) trainer.Config {
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.Precision = rows, p
	cfg.Schedule, cfg.Losses = trainer.ConstantLR(learningRate), trainer.LossesFor(a, cfg.Losses)
	return cfg
}

// bestStep returns the shortest compute time of a step.
func bestStep(t *trainer.Trainer, o *Options) (time.Duration, error) {
	src, best := newSameRows(o.Batch), time.Duration(math.MaxInt64)
	err := again(o.Duration, minRuns+1, func() error {
		s, err := t.Step(context.Background(), src)
		if err == nil && (s.Skipped || s.Rows != o.Batch) {
			err = fmt.Errorf("training step %d: skipped %v, %d rows of %d", s.Step, s.Skipped, s.Rows, o.Batch)
		}
		if s.Step > 1 { // the first one is cold
			best = min(best, s.ComputeTime+s.UpdateTime)
		}
		return err
	})
	return max(best, 1), err
}

// sameRows is a batch source that hands out the same rows for ever.
type sameRows struct{ rows *encoding.TrainBatch }

func newSameRows(n int) sameRows {
	s := sameRows{encoding.NewTrainBatch(n)}
	appendRows(s.rows, n)
	return s
}

// Peek fills b; see trainer.Peeker.
func (s sameRows) Peek(b *encoding.TrainBatch) (uint64, bool) {
	return 0, s.Next(context.Background(), b) == nil
}

// Take takes what Peek showed.
func (s sameRows) Take(uint64) bool { return true }

// Next fills b.
func (s sameRows) Next(_ context.Context, b *encoding.TrainBatch) error {
	b.CopyFrom(s.rows)
	return nil
}
