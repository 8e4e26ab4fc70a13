package train

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/alarms"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/selfplay"
	"github.com/chessbrain/chessbrain/trainer"
)

// reporter tells what the steps of a training come to, and measures its nets.
type reporter struct {
	*core
	heads  *headRows // of the trainer
	meter  *monitor.Meter
	played *selfplay.Stats

	firstStep   int64 // at the start of this process
	firstSample int64
}

// report reports a step and watches over it.
func (r *reporter) report(ctx context.Context, s *trainer.StepStats) error {
	if r.cfg.HaltOnGradients && !s.Skipped {
		if err := r.state.Gradients.Observe(s.GradNorm, r.cfg.ClipNorm); err != nil {
			return fmt.Errorf("step %d: %w", s.Step, err)
		}
	}
	window, _ := r.rows.Size()
	e := &monitor.Step{
		Step: s.Step, Episode: r.state.Episodes, Samples: s.Samples, Rows: s.Rows,
		Losses: LossNumbers(&s.Measures), Loss: monitor.Number(s.Objective),
		PolicyEntropy: monitor.Number(s.PolicyEntropy), TargetEntropy: monitor.Number(s.PolicyTargetEntropy),
		LegalEntropy: monitor.Number(s.LegalEntropy), PolicyAcc: monitor.Number(s.PolicyAccuracy), ValueAcc: monitor.Number(s.ValueAccuracy),
		LR: monitor.Number(s.LR), GradNorm: monitor.Number(s.GradNorm), Clipped: s.Clipped, LossScale: monitor.Number(s.LossScale),
		Skipped: s.Skipped, SkippedTotal: r.trainer.NumSkipped(), Seconds: monitor.Number(s.Time.Seconds()),
		WindowRows: window, QueueDepth: r.pace.Queue(), Totals: r.totals(),
	}
	e.Rates = r.meter.Observe(time.Now(), e.Totals)
	r.page.Set(func(p *Page) { p.Step, p.Losses, p.Rates = s.Step, e.Losses, e.Rates })
	r.page.add(e.Losses)
	for _, head := range r.heads.take(&s.Measures) { // that learn nothing
		a := alarms.NoTarget(string(head), untaughtSteps)
		a.Step, a.Episode = s.Step, r.state.Episodes
		r.log.Warn(a.Message, "remedy", a.Remedy)
		r.process.Publish(a)
	}
	if s.Skipped || s.Step%r.cfg.Metrics.Every == 0 {
		r.process.Publish(e)
	}
	if every := r.cfg.Validation.Every; every > 0 && s.Step%every == 0 && !s.Skipped {
		return r.validate(ctx)
	}
	return nil
}

// totals are the counts since the process started.
func (r *reporter) totals() monitor.Totals {
	n := r.played.Snapshot()
	t := play.TotalsOf(&n)
	t.Steps, t.Rows = r.trainer.NumSteps()-r.firstStep, r.trainer.NumSamples()-r.firstSample
	return t
}

// validate measures the losses on the validation games, raw weights.
func (r *reporter) validate(ctx context.Context) error {
	e, err := r.evaluate(ctx, r.trainer, monitor.WeightsRaw, r.cfg.Validation.Rows)
	if e != nil && err == nil {
		r.page.Set(func(p *Page) { p.Validation = e.Losses })
	}
	return err
}

// evaluate measures a net on at most so many rows of the validation games and tells
// of it; nil where there are none.
func (r *reporter) evaluate(ctx context.Context, t *trainer.Trainer, weights string, rows int) (*monitor.Validation, error) {
	held, err := r.rows.HeldOut(ctx, rows)
	if held == nil || err != nil {
		return nil, err
	}
	s, err := t.Evaluate(ctx, held, rows)
	if err != nil {
		return nil, fmt.Errorf("measure on the validation games: %w", err)
	}
	e := &monitor.Validation{
		Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Weights: weights, Rows: s.Rows, Games: r.ledger.games.Validation.Games(),
		Losses: LossNumbers(&s.Measures), StdErrs: monitor.Numbers{},
		PolicyEntropy: monitor.Number(s.PolicyEntropy), TargetEntropy: monitor.Number(s.PolicyTargetEntropy),
		LegalEntropy: monitor.Number(s.LegalEntropy), PolicyAcc: monitor.Number(s.PolicyAccuracy), ValueAcc: monitor.Number(s.ValueAccuracy),
	}
	for _, l := range s.Losses {
		e.StdErrs[l.Metric] = monitor.Number(l.StdErr)
	}
	r.process.Publish(e)
	return e, nil
}

// compareWithFirst evaluates the net that the run began with and the newest one
// on all validation rows, up to ten thousand.
func (r *reporter) compareWithFirst(ctx context.Context) (first, last *monitor.Validation, err error) {
	if held, err := r.rows.HeldOut(ctx, summaryRows); held == nil || err != nil {
		return nil, nil, err
	}
	cfg, err := r.cfg.Trainer(r.initial.Arch)
	if err != nil {
		return nil, nil, err
	}
	if cfg.Device != nil {
		cfg.BatchSize = min(cfg.BatchSize, summaryBatch) // beside the run's own trainer
	}
	untrained, err := trainer.New(r.initial, cfg)
	if err != nil {
		return nil, nil, err
	}
	first, firstErr := r.evaluate(ctx, untrained, monitor.WeightsUntrained, summaryRows)
	last, lastErr := r.evaluate(ctx, r.trainer, monitor.WeightsRaw, summaryRows)
	return first, last, errors.Join(firstErr, lastErr, untrained.Close())
}

// LossNumbers are losses by metric name.
func LossNumbers(m *trainer.Measures) monitor.Numbers {
	n := monitor.Numbers{}
	for _, l := range m.Losses {
		n[l.Metric] = monitor.Number(l.Mean)
	}
	return n
}
