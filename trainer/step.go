package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Step takes GradAccumSteps micro-batches from src and changes the weights
// once. It returns io.EOF, with nothing done, when src has no more rows; a
// source that ends within a step makes a smaller step.
//
// A loss or gradient that is not finite skips the step: Skipped is set, the
// weights, running statistics and moments stay. After MaxConsecutiveSkips in a
// row Step returns ErrNonFinite.
func (t *Trainer) Step(ctx context.Context, src BatchSource) (StepStats, error) {
	start := time.Now()
	stats := StepStats{LR: t.LearningRate(), LossScale: t.scaler.scale}
	t.e.loadRunning()
	t.e.lossScale = t.scaler.scale
	sums := newSums(len(t.terms))
	objective, taken := 0.0, 0
	for taken < t.cfg.GradAccumSteps {
		began := time.Now()
		err := t.next(ctx, src)
		stats.DataTime += time.Since(began)
		if errors.Is(err, io.EOF) && taken > 0 {
			break
		}
		if err != nil {
			return StepStats{}, err
		}
		t.e.begin(t.batch, batchStats, true)
		loss, err := t.g.run()
		if err != nil {
			return StepStats{}, err
		}
		t.accumulate(taken == 0)
		t.collect(sums)
		objective += loss
		stats.Rows += t.batch.N
		taken++
	}
	stats.ComputeTime = time.Since(start) - stats.DataTime
	began := time.Now()
	stats.Objective = objective/float64(taken) + t.prepareGradients(taken, sums)
	stats.GradNorm = t.gradNorm()
	err := t.update(&stats)
	t.report(&stats.Measures, sums)
	stats.Step, stats.Samples = t.progress.Step, t.progress.Samples
	stats.UpdateTime, stats.Time = time.Since(began), time.Since(start)
	return stats, err
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
	return checkBatch(t.batch, t.cfg.BatchSize)
}

// checkBatch refuses a batch that would make the kernels read outside of it.
func checkBatch(b *encoding.TrainBatch, capacity int) error {
	n := b.N
	switch {
	case n < 1 || n > capacity:
		return fmt.Errorf("next micro-batch: %d rows, want 1 to %d", n, capacity)
	case len(b.Masks) < n || len(b.Scalars) < n || len(b.Targets) < n || len(b.Weight) < n || len(b.LegalStart) < n+1:
		return fmt.Errorf("next micro-batch: a slice is shorter than its %d rows", n)
	case b.LegalStart[0] != 0 || int(b.LegalStart[n]) > len(b.Legal) || len(b.Policy) < int(b.LegalStart[n]):
		return fmt.Errorf("next micro-batch: legal moves and policy do not match the rows")
	}
	for i := range n {
		if b.LegalStart[i] > b.LegalStart[i+1] {
			return fmt.Errorf("next micro-batch: row %d has a negative number of legal moves", i)
		}
	}
	for _, p := range b.Legal[:b.LegalStart[n]] {
		if p >= encoding.NumPolicy {
			return fmt.Errorf("next micro-batch: policy index %d is not below %d", p, encoding.NumPolicy)
		}
	}
	return nil
}

// accumulate adds the gradients of the last micro-batch to the step's.
func (t *Trainer) accumulate(first bool) {
	t.e.pool.run(len(t.acc), func(i, _ int) {
		a := t.acc[i]
		if first {
			copy(a.sum, a.grad)
		} else {
			kernel.Add(a.sum, a.sum, a.grad)
		}
	})
}

// prepareGradients divides the sums by the number of micro-batches and the loss
// scale and adds the gradient of the L2 losses, whose weighted value it returns.
func (t *Trainer) prepareGradients(taken int, sums *sums) float64 {
	factor := float32(1 / (float64(taken) * t.scaler.scale))
	weight := t.l2Weight()
	t.e.pool.run(len(t.acc), func(i, _ int) {
		a := t.acc[i]
		if factor != 1 {
			kernel.Scale(a.sum, factor)
		}
		if weight > 0 && decays(a.spec) {
			kernel.Axpy(a.sum, float32(weight), a.data)
		}
	})
	sums.l2 = t.halfSquares()
	return weight * sums.l2
}

// l2Weight is the sum of the weights of the configured L2 losses.
func (t *Trainer) l2Weight() float64 {
	w := 0.0
	for _, l := range t.cfg.Losses {
		if l.Head == HeadWeights {
			w += l.Weight
		}
	}
	return w
}

// halfSquares is the L2 loss: half the sum of squares of all weight tensors.
func (t *Trainer) halfSquares() float64 {
	return t.e.sumSquares(len(t.e.params), func(i int) []float32 {
		if p := &t.e.params[i]; decays(p.spec) {
			return p.data
		}
		return nil
	}) / 2
}

// gradNorm is the global norm of the step's gradient, before clipping.
func (t *Trainer) gradNorm() float64 {
	return math.Sqrt(t.e.sumSquares(len(t.acc), func(i int) []float32 { return t.acc[i].sum }))
}

// update changes the weights, or skips the step where a number is not finite.
func (t *Trainer) update(stats *StepStats) error {
	finite := isFinite(stats.Objective) && isFinite(stats.GradNorm) && t.runningFinite()
	t.scaler.update(finite)
	if !finite {
		stats.Skipped = true
		t.progress.Skipped++
		t.progress.Consecutive++
		if t.progress.Consecutive >= MaxConsecutiveSkips {
			return fmt.Errorf("%w: %d steps in a row at step %d (loss %v, gradient norm %v)",
				ErrNonFinite, t.progress.Consecutive, t.progress.Step, stats.Objective, stats.GradNorm)
		}
		return nil
	}
	if f := clipFactor(stats.GradNorm, t.cfg.ClipNorm); f != 1 {
		stats.Clipped = true
		t.e.pool.run(len(t.acc), func(i, _ int) { kernel.Scale(t.acc[i].sum, float32(f)) })
	}
	t.opt.SetLR(stats.LR)
	if err := t.opt.Step(t.model); err != nil {
		return err
	}
	t.e.storeRunning()
	t.e.version++
	t.progress.Step++
	t.progress.Samples += int64(stats.Rows)
	t.progress.Consecutive = 0
	t.swa.observe(t.progress.Step, t.paramData())
	return nil
}

// runningFinite says whether the pending running statistics are finite.
func (t *Trainer) runningFinite() bool {
	for _, r := range t.e.running {
		if !isFinite(kernel.SumSquares(r)) {
			return false
		}
	}
	return true
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// decays says whether weight decay and L2 touch a parameter.
func decays(s nn.ParamSpec) bool { return s.Kind == nn.Weight }
