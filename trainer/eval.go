package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// Evaluate measures the losses of up to maxRows rows of src with the current
// weights and the running batch-norm statistics, as inference sees the net.
// Nothing of the trainer's state changes. It ends early, without an error, when
// src does; no rows at all is io.EOF.
func (t *Trainer) Evaluate(ctx context.Context, src BatchSource, maxRows int) (EvalStats, error) {
	start := time.Now()
	if err := t.forgetAhead(); err != nil {
		return EvalStats{}, err
	}
	s, rows := newSums(len(t.cfg.Losses)), 0
	_, err := t.dev.run(t.someRows(ctx, src, maxRows, &rows, func() device.Pass { return device.Pass{Running: true, LossScale: 1} }), s)
	if err == nil {
		s.l2, err = t.dev.halfSquares()
	}
	if err != nil {
		return EvalStats{}, fmt.Errorf("evaluate: %w", err)
	}
	stats := EvalStats{Rows: rows, Time: time.Since(start)}
	t.report(&stats.Measures, s)
	return stats, nil
}

// someRows gives the micro-batches of up to maxRows rows, the last one cut short,
// and counts the rows; as says how each is taken.
func (t *Trainer) someRows(ctx context.Context, src BatchSource, maxRows int, rows *int, as func() device.Pass) func() (*encoding.TrainBatch, pass, error) {
	return func() (*encoding.TrainBatch, pass, error) {
		if *rows >= maxRows {
			return nil, pass{}, nil
		}
		err := t.next(ctx, src)
		if errors.Is(err, io.EOF) && *rows > 0 {
			return nil, pass{}, nil
		}
		if err != nil {
			return nil, pass{}, err
		}
		t.batch.N = min(t.batch.N, maxRows-*rows)
		*rows += t.batch.N
		return t.batch, pass{Pass: as()}, nil
	}
}

// SWA returns the averaged net, nil before the first average. Its running
// batch-norm statistics are averages too: call RefreshSWA before using it.
func (t *Trainer) SWA() *nn.Net {
	if t.swa.params == nil {
		return nil
	}
	t.pull(true)
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
	if err := t.forgetAhead(); err != nil {
		return err
	}
	rows, batches := 0, 0
	err := t.dev.refresh(t.someRows(ctx, src, maxRows, &rows, func() device.Pass {
		batches++
		return device.Pass{LossScale: 1, BNMomentum: 1 / float64(batches)} // a plain mean over the batches
	}))
	if err != nil {
		return fmt.Errorf("measure statistics of the averaged net: %w", err)
	}
	return nil
}
