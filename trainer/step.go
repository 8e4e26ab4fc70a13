package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/device"
)

// BatchSource fills b with the next micro-batch. The caller owns b, which comes
// empty and whose capacity says how many rows are wanted. io.EOF means that
// there are no more rows; a short last batch is then returned first, with nil.
type BatchSource interface {
	Next(ctx context.Context, b *encoding.TrainBatch) error
}

// Peeker is a BatchSource that can show its next batch before it is taken, so that a
// device gets it while it works on the step before. What is shown counts as taken,
// and moves the source's position, by Take alone.
type Peeker interface {
	BatchSource
	// Peek fills b with what Next would give now, and gives a ticket for it. It does
	// not wait: false says that nothing is ready.
	Peek(b *encoding.TrainBatch) (ticket uint64, ok bool)
	// Take takes the batch of a ticket in the place of Next. False: Next would give
	// another one by now, and nothing was taken.
	Take(ticket uint64) bool
}

// Step takes GradAccumSteps micro-batches from src and changes the weights
// once. It returns io.EOF, with nothing done, when src has no more rows; a
// source that ends within a step makes a smaller step.
//
// A loss or gradient that is not finite skips the step: Skipped is set, the
// weights, running statistics and moments stay. After MaxConsecutiveSkips in a
// row Step returns ErrNonFinite.
func (t *Trainer) Step(ctx context.Context, src BatchSource) (StepStats, error) {
	start := time.Now()
	if t.failed != nil {
		return StepStats{}, t.failed
	}
	at := t.progress
	stats := StepStats{LR: t.cfg.Schedule.At(at.Step) * t.cfg.Warmup.Factor(at.Step, at.Samples), LossScale: t.scaler.scale}
	if err := t.dev.BeginStep(); err != nil {
		return StepStats{}, err
	}
	sums := newSums(len(t.cfg.Losses))
	taken := 0
	objective, err := t.dev.run(func() (*encoding.TrainBatch, pass, error) {
		if taken == t.cfg.GradAccumSteps {
			return nil, pass{}, t.dev.lookAhead(src)
		}
		began := time.Now()
		staged, err := taken == 0, error(nil)
		if staged {
			staged, err = t.dev.takeAhead(src)
		}
		if !staged && err == nil {
			err = t.next(ctx, src)
		}
		stats.DataTime += time.Since(began)
		if errors.Is(err, io.EOF) && taken > 0 {
			return nil, pass{}, nil
		}
		if err != nil {
			return nil, pass{}, err
		}
		stats.Rows += t.batch.N
		taken++
		p := device.Pass{Backward: true, First: taken == 1, LossScale: float32(t.scaler.scale)}
		return t.batch, pass{p, staged}, nil
	}, sums)
	if err != nil {
		return StepStats{}, err
	}
	stats.ComputeTime = time.Since(start) - stats.DataTime
	began := time.Now()
	err = t.update(&stats, sums, objective/float64(taken), taken)
	t.report(&stats.Measures, sums)
	stats.Step, stats.Samples = t.progress.Step, t.progress.Samples
	stats.UpdateTime, stats.Time = time.Since(began), time.Since(start)
	return stats, err
}

// forgetAhead comes before anything but a step uses the device.
func (t *Trainer) forgetAhead() error {
	if t.failed != nil {
		return t.failed
	}
	return t.dev.forget()
}

// next fills the trainer's batch and checks what came.
func (t *Trainer) next(ctx context.Context, src BatchSource) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.batch.Reset()
	if err := src.Next(ctx, t.batch); err != nil {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return fmt.Errorf("next micro-batch: %w", err)
	}
	return t.checkBatch(t.batch)
}

// checkBatch refuses a micro-batch that would make the kernels read outside of it.
func (t *Trainer) checkBatch(b *encoding.TrainBatch) (err error) {
	switch {
	case b.N < 1 || b.N > t.cfg.BatchSize:
		err = fmt.Errorf("%d rows, want 1 to %d", b.N, t.cfg.BatchSize)
	case b.Kept.Of == nil:
		err = checkContents(b, b.N)
	default:
		err = t.dev.window.check(b)
	}
	if err != nil {
		return fmt.Errorf("next micro-batch: %w", err)
	}
	return nil
}

// checkContents refuses n rows whose slices do not fit together.
func checkContents(b *encoding.TrainBatch, n int) error {
	switch {
	case len(b.Masks) < n || len(b.Scalars) < n || len(b.Targets) < n || len(b.Ahead) < n || len(b.Weight) < n || len(b.LegalStart) < n+1:
		return fmt.Errorf("a slice is shorter than its %d rows", n)
	case b.LegalStart[0] != 0 || int(b.LegalStart[n]) > len(b.Legal) || len(b.Policy) < int(b.LegalStart[n]):
		return fmt.Errorf("legal moves and policy do not match the rows")
	}
	var seen [(encoding.NumPolicy + 63) / 64]uint64
	for i := range n {
		from, to := b.LegalStart[i], b.LegalStart[i+1]
		if from > to || int(to) > len(b.Legal) {
			return fmt.Errorf("row %d has %d legal moves, of %d in all", i, to-from, len(b.Legal))
		}
		clear(seen[:])
		for _, p := range b.Legal[from:to] {
			if p >= encoding.NumPolicy {
				return fmt.Errorf("policy index %d of row %d is not below %d", p, i, encoding.NumPolicy)
			}
			if seen[p/64]>>(p%64)&1 != 0 {
				return fmt.Errorf("row %d has policy index %d twice", i, p)
			}
			seen[p/64] |= 1 << (p % 64)
		}
	}
	return nil
}

// l2Weight is the sum of the weights of the configured L2 losses.
func (c *Config) l2Weight() float64 {
	w := 0.0
	for _, l := range c.Losses {
		if l.Head == HeadWeights {
			w += l.Weight
		}
	}
	return w
}

// update changes the weights after so many micro-batches, or skips the step where
// a number is not finite. objective is without L2.
func (t *Trainer) update(stats *StepStats, sums *sums, objective float64, taken int) error {
	u := device.Update{
		Scale: float32(1 / (float64(taken) * t.scaler.scale)), ClipNorm: t.cfg.ClipNorm, LR: float32(stats.LR), Step: t.opt.steps, Objective: objective,
	}
	average := t.swa.due(t.progress.Step + 1)
	if average {
		u.SWAKeep, u.SWAAdd = t.swa.shares()
	}
	done, err := t.dev.Update(u)
	if err != nil {
		return err
	}
	sums.l2 = done.HalfSquares
	stats.Objective, stats.GradNorm = objective+t.cfg.l2Weight()*done.HalfSquares, done.GradNorm
	t.scaler.update(done.Finite)
	if !done.Finite {
		stats.Skipped = true
		t.progress.Skipped++
		t.progress.Consecutive++
		if t.progress.Consecutive >= MaxConsecutiveSkips {
			return fmt.Errorf("%w: %d steps in a row at step %d (loss %v, gradient norm %v); lower --lr, or set training.clip_norm: the run goes on from its last checkpoint",
				ErrNonFinite, t.progress.Consecutive, t.progress.Step, stats.Objective, stats.GradNorm)
		}
		return nil
	}
	stats.Clipped = t.cfg.ClipNorm > 0 && stats.GradNorm > t.cfg.ClipNorm
	t.progress.Step++
	t.progress.Samples += int64(stats.Rows)
	t.progress.Consecutive = 0
	t.opt.steps++
	t.dev.newerNet, t.dev.newerRest = true, true
	if average {
		t.swa.entered()
		t.swa.reserve(t.paramData())
	}
	return nil
}
