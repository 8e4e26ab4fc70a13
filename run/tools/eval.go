package tools

import (
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
	Batches   int // 0 = all rows that there are
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

	Stats trainer.EvalStats `json:"-"`
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
func Eval(ctx context.Context, s *Subject, rows *Rows, opt EvalOptions) (*Result, error) {
	c, err := s.trainerConfig(opt.BatchSize)
	if err != nil {
		return nil, err
	}
	if opt.Batches == 0 && rows.loader != nil {
		return nil, inputError{errors.New("a loader may never end: say with --batches how many")}
	}
	t, err := s.newTrainer(c)
	if err != nil {
		return nil, err
	}
	limit := math.MaxInt
	if opt.Batches > 0 {
		limit = opt.Batches * c.BatchSize
	}
	r, err := measure(ctx, t, s, rows, limit, opt.Keep)
	return r, errors.Join(err, t.Close())
}

// measure evaluates a trainer's weights on up to limit rows.
func measure(ctx context.Context, t *trainer.Trainer, s *Subject, rows *Rows, limit int, keep func(*encoding.TrainBatch) error) (*Result, error) {
	pass := limit
	if limit == math.MaxInt {
		pass = 0
	}
	e, err := t.Evaluate(ctx, &tap{rows.Pass(pass), keep}, limit)
	if errors.Is(err, io.EOF) {
		return nil, inputError{fmt.Errorf("data %s holds no rows to measure on (of a shuffle those held out for validation are taken); name other data", rows.Name)}
	}
	if err != nil {
		return nil, err
	}
	c, err := s.trainerConfig(0)
	if err != nil {
		return nil, err
	}
	r := &Result{Net: s.Name, NetID: s.Net.ID(), Weights: s.Weights, Data: rows.Name, Games: rows.Games, Rows: e.Rows,
		Losses: lossValues(c.Losses, &e.Measures), PolicyEntropy: monitor.Number(e.PolicyEntropy), TargetEntropy: monitor.Number(e.PolicyTargetEntropy),
		LegalEntropy: monitor.Number(e.LegalEntropy), PolicyAccuracy: monitor.Number(e.PolicyAccuracy), ValueAccuracy: monitor.Number(e.ValueAccuracy),
		Seconds: e.Time.Seconds(), Stats: e}
	if s.Checkpoint != nil {
		r.Step = s.Checkpoint.Manifest.Step
	}
	return r, nil
}

// lossValues puts measures beside what they are measures of.
func lossValues(losses []trainer.Loss, m *trainer.Measures) []LossValue {
	values := make([]LossValue, len(losses))
	for i, l := range losses {
		values[i] = LossValue{Metric: l.Metric, Head: l.Head, Mean: monitor.Number(m.Losses[i].Mean),
			StdErr: monitor.Number(m.Losses[i].StdErr), Rows: m.Losses[i].N, Weight: l.Weight}
	}
	return values
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
	return t.keep(cloneBatch(b))
}

// cloneBatch copies the rows of a batch.
func cloneBatch(b *encoding.TrainBatch) *encoding.TrainBatch {
	c := encoding.NewTrainBatch(b.N)
	for i := range b.N {
		copyRow(c, b, i)
	}
	return c
}

// copyRow appends row i of src to dst.
func copyRow(dst, src *encoding.TrainBatch, i int) {
	k := dst.Grow(len(src.LegalOf(i)))
	dst.Masks[k], dst.Scalars[k], dst.Targets[k], dst.Weight[k] = src.Masks[i], src.Scalars[i], src.Targets[i], src.Weight[i]
	copy(dst.LegalOf(k), src.LegalOf(i))
	copy(dst.PolicyOf(k), src.PolicyOf(i))
}
