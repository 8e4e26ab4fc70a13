package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
)

// measure is a measurement that the configuration names.
type measure struct {
	setup.Measure
	window *replay.Window // of its games; nil = those that are never trained on
}

// openMeasures reads the games of the measurements, before anything is written.
func (r *reporter) openMeasures(ctx context.Context) error {
	for _, m := range r.cfg.Metrics.Measures {
		window, problems, err := r.cfg.MeasuredGames(ctx, m)
		if err != nil {
			return err
		}
		for _, p := range problems {
			r.log.Warn("left out of a measurement", "measure", m.Name, "problem", p)
		}
		r.measures = append(r.measures, measure{m, window})
	}
	return nil
}

// measure does the measurements that are due after a step. Each is on the same rows, and
// nothing of the training follows from it.
func (r *reporter) measure(ctx context.Context, s *trainer.StepStats) error {
	for _, m := range r.measures {
		if s.Skipped || s.Step%m.Period != 0 {
			continue
		}
		if err := r.measureOne(ctx, m); err != nil {
			return fmt.Errorf("measurement %s: %w", m.Name, err)
		}
	}
	return nil
}

func (r *reporter) measureOne(ctx context.Context, m measure) (err error) {
	rows, t, weights := r.cfg.Validation.Rows, r.trainer, monitor.WeightsRaw
	var on trainer.BatchSource
	if m.window != nil {
		on = replay.NewPass(m.window, rows, r.cfg.Window.Extra)
	} else if on, err = r.rows.HeldOut(ctx, rows); on == nil || err != nil {
		return err
	}
	if m.Averaged {
		net, err := r.out.averaged(ctx)
		if net == nil || err != nil {
			return err
		}
		if t, err = r.beside(net); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, t.Close()) }()
		weights = monitor.WeightsSWA
	}
	e, err := r.losses(ctx, t, on, weights, rows, cmp.Or(m.window, r.ledger.games.Validation).Games())
	if err == nil {
		r.process.Publish(&monitor.Measure{Validation: *e, Name: m.Name})
	}
	return err
}
