package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chessbrain/chessbrain/nn"
)

// Evaluate measures the losses of up to maxRows rows of src with the current
// weights and the running batch-norm statistics, as inference sees the net.
// Nothing of the trainer's state changes. It ends early, without an error, when
// src does; no rows at all is io.EOF.
func (t *Trainer) Evaluate(ctx context.Context, src BatchSource, maxRows int) (EvalStats, error) {
	start := time.Now()
	s := newSums(len(t.terms))
	rows, err := t.eachBatch(ctx, src, maxRows, func() {
		t.e.begin(t.batch, runningStats, false)
		t.g.forward()
		t.collect(s)
	})
	if err != nil {
		return EvalStats{}, fmt.Errorf("evaluate: %w", err)
	}
	s.l2 = t.halfSquares()
	stats := EvalStats{Rows: rows, Time: time.Since(start)}
	t.report(&stats.Measures, s)
	return stats, nil
}

// eachBatch calls f for the micro-batches of up to maxRows rows, the last one
// cut short, and returns their number of rows.
func (t *Trainer) eachBatch(ctx context.Context, src BatchSource, maxRows int, f func()) (int, error) {
	rows := 0
	for rows < maxRows {
		err := t.next(ctx, src)
		if errors.Is(err, io.EOF) && rows > 0 {
			break
		}
		if err != nil {
			return rows, err
		}
		t.batch.N = min(t.batch.N, maxRows-rows)
		rows += t.batch.N
		f()
	}
	return rows, nil
}

// SWA returns the averaged net, nil before the first average. Its running
// batch-norm statistics are averages too: call RefreshSWA before using it.
func (t *Trainer) SWA() *nn.Net {
	if t.swa.params == nil {
		return nil
	}
	net := t.net.Clone()
	for i := range net.Params {
		copy(net.Params[i].Data, t.swa.params[i])
	}
	return net
}

// RefreshSWA measures the running batch-norm statistics of the averaged weights:
// the mean of the statistics of the micro-batches of up to maxRows rows of src.
// The current weights stay as they are. Without an average it does nothing.
func (t *Trainer) RefreshSWA(ctx context.Context, src BatchSource, maxRows int) error {
	if t.swa.params == nil {
		return nil
	}
	current := t.paramData()
	saved := make([][]float32, len(current))
	for i, p := range current {
		saved[i] = append([]float32(nil), p...)
		copy(p, t.swa.params[i])
	}
	momentum, batches := t.e.bnMomentum, 0
	t.e.version++
	t.e.loadRunning() // a skipped step may have left NaN there
	_, err := t.eachBatch(ctx, src, maxRows, func() {
		batches++
		t.e.bnMomentum = 1 / float64(batches) // a plain mean over the batches
		t.e.begin(t.batch, batchStats, false)
		t.g.forward()
	})
	t.e.bnMomentum = momentum
	t.e.version++
	for i, p := range current {
		copy(p, saved[i])
		if err == nil && t.e.running[i] != nil {
			copy(t.swa.params[i], t.e.running[i])
		}
	}
	if err != nil {
		return fmt.Errorf("measure statistics of the averaged net: %w", err)
	}
	return nil
}
