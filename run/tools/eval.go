package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/trainer"
)

// EvalOptions say how much is measured.
type EvalOptions struct {
	BatchSize int // rows of a micro-batch; 0 = as configured
	Batches   int // at most; 0 = as Rows says
	Rows      int // at most; 0 = all that there are
	// Keep, if not nil, takes a copy of every batch that was measured.
	Keep func(*encoding.TrainBatch) error
}

// Result is a net's losses on rows, as JSON holds it.
type Result struct {
	Net     string `json:"net"`
	NetID   string `json:"net_id"`
	Weights string `json:"weights"`
	Step    int64  `json:"step,omitempty"`
	Data    string `json:"data"`
	Games   int    `json:"games,omitempty"`
	Rows    int    `json:"rows"`

	Losses         []LossValue    `json:"losses"`
	PolicyEntropy  monitor.Number `json:"policy_entropy"`
	TargetEntropy  monitor.Number `json:"target_entropy"`
	LegalEntropy   monitor.Number `json:"legal_entropy"`
	PolicyAccuracy monitor.Number `json:"policy_accuracy"`
	ValueAccuracy  monitor.Number `json:"value_accuracy"`
	Seconds        float64        `json:"seconds"`
}

// LossValue is the mean of one configured loss over the rows whose target is
// known.
type LossValue struct {
	Metric string         `json:"metric"`
	Head   trainer.Head   `json:"head"`
	Mean   monitor.Number `json:"mean"`
	StdErr monitor.Number `json:"std_err"`
	Rows   int            `json:"rows"`   // 0 of L2, which has none
	Weight float64        `json:"weight"` // in the objective
}

// Eval measures the subject's configured losses on rows, as inference sees the
// net. Rows of games lie evenly spread over all where Batches does not reach.
func Eval(ctx context.Context, s *Subject, rows *Rows, opt EvalOptions) (r *Result, err error) {
	if opt.Batches == 0 && rows.loader != nil {
		return nil, inputError{errors.New("a loader may never end: say with --batches how many")}
	}
	var e trainer.EvalStats
	var losses []trainer.Loss
	sized := func(c *trainer.Config) { c.BatchSize = cmp.Or(opt.BatchSize, c.BatchSize) }
	err = s.train(sized, func(t *trainer.Trainer, c *trainer.Config) (err error) {
		limit := cmp.Or(opt.Batches*c.BatchSize, opt.Rows)
		losses = c.Losses
		if s.Checkpoint != nil { // blends are those of its step
			if err := t.Continue(trainer.Continuation{Steps: s.Checkpoint.Manifest.Step}); err != nil {
				return err
			}
		}
		e, err = t.Evaluate(ctx, &tap{rows.Pass(limit), opt.Keep}, cmp.Or(limit, math.MaxInt))
		return err
	})
	if errors.Is(err, io.EOF) {
		return nil, inputError{fmt.Errorf("data %s holds no rows to measure on (of a shuffle those held out for validation are taken); name other data", rows.Name)}
	}
	if err != nil {
		return nil, err
	}
	r = &Result{Net: s.Name, NetID: s.Net.ID(), Weights: s.Weights, Data: rows.Name, Games: rows.Games, Rows: e.Rows,
		PolicyEntropy: monitor.Number(e.PolicyEntropy), TargetEntropy: monitor.Number(e.PolicyTargetEntropy),
		LegalEntropy: monitor.Number(e.LegalEntropy), PolicyAccuracy: monitor.Number(e.PolicyAccuracy), ValueAccuracy: monitor.Number(e.ValueAccuracy),
		Seconds: e.Time.Seconds()}
	for i, l := range losses {
		m := e.Losses[i]
		r.Losses = append(r.Losses, LossValue{l.Metric, l.Head, monitor.Number(m.Mean), monitor.Number(m.StdErrOf(rows.Games)), m.N, l.Weight})
	}
	if s.Checkpoint != nil {
		r.Step = s.Checkpoint.Manifest.Step
	}
	return r, nil
}

// tap shows every batch of a source to keep.
type tap struct {
	trainer.BatchSource
	keep func(*encoding.TrainBatch) error
}

func (t *tap) Next(ctx context.Context, b *encoding.TrainBatch) error {
	if err := t.BatchSource.Next(ctx, b); err != nil || t.keep == nil {
		return err
	}
	c := encoding.NewTrainBatch(b.N)
	c.CopyFrom(b)
	return t.keep(c)
}
