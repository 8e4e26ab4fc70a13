package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/chunks"
)

// Measure is a measurement of a training's nets.
type Measure struct {
	Name     string
	Period   int64  // steps
	Averaged bool   // of the averaged weights
	Data     string // where its games lie; "" = those that are never trained on
	field    string
}

func measuresOf(m *config.Metrics) (all []Measure) {
	for i, one := range m.GetMeasure() {
		all = append(all, Measure{Name: one.GetName(), Period: one.GetPeriod(), Averaged: one.GetWeights() == config.Export_SWA, Data: one.GetData(),
			field: fmt.Sprintf("metrics.measure[%d].", i)})
	}
	return all
}

// checkMeasures refuses measurements of what there is not.
func checkMeasures(c *config.Config, refuse func(bad bool, field, remedy, reason string)) {
	for _, m := range measuresOf(c.GetMetrics()) {
		refuse(m.Averaged && c.GetTraining().GetSwa().GetPeriod() == 0, m.field+"weights", "set training.swa.period, or take RAW", "there is no average to measure")
	}
}

// MeasuredGames reads the games of a measurement, nil where it names none. problems are
// files that were left out. Without a row to measure on the error has exit code 2.
func (t *Training) MeasuredGames(ctx context.Context, m Measure) (w *replay.Window, problems []error, err error) {
	if m.Data == "" {
		return nil, nil, nil
	}
	w, problems, err = chunks.Window(ctx, fsx.OS, m.Data)
	if err == nil && w.Rows() == 0 {
		err = errors.Join(append([]error{fmt.Errorf("%s has no position with a policy and a weight above 0", m.Data)}, problems[:min(1, len(problems))]...)...)
	}
	if err != nil {
		err = t.e.Errorf(m.field+"data", "name files or a directory of games, or leave it away", "%v", err)
	}
	return w, problems, err
}
