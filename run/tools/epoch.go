package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/trainer"
)

// EpochOptions say how long is trained.
type EpochOptions struct {
	Steps int // at most; 0 = until the data have been gone through once
	Every int // steps between two points; the last is there too
}

// EpochPoint sums up the steps since the last one.
type EpochPoint struct {
	Step    int64           `json:"step"` // of the net, counted on from its checkpoint
	Rows    int64           `json:"rows"` // of this epoch so far
	LR      float64         `json:"lr"`
	Loss    monitor.Number  `json:"loss"` // mean objective, L2 included
	Losses  monitor.Numbers `json:"losses"`
	PerSec  monitor.Number  `json:"rows_per_second"`
	Skipped int64           `json:"skipped,omitempty"`
}

// EpochResult is what a timed epoch came to.
type EpochResult struct {
	Net            string          `json:"net"`
	Data           string          `json:"data"`
	Ended          bool            `json:"ended"` // all data were gone through
	Steps          int64           `json:"steps"`
	Rows           int64           `json:"rows"`
	Skipped        int64           `json:"skipped"`
	Seconds        float64         `json:"seconds"`
	StepsPerSecond monitor.Number  `json:"steps_per_second"`
	RowsPerSecond  monitor.Number  `json:"rows_per_second"`
	DataShare      monitor.Number  `json:"data_share"` // of the time, waiting for rows
	Losses         monitor.Numbers `json:"losses"`     // means over all steps
}

// TrainEpoch trains the subject's net on all rows once and saves nothing. A
// checkpoint goes on with its moments and its place in the schedule. show gets a
// point every so many steps.
func TrainEpoch(ctx context.Context, s *Subject, rows *Rows, opt EpochOptions, show func(EpochPoint) error) (*EpochResult, error) {
	if opt.Steps < 0 || opt.Every < 1 {
		return nil, inputError{fmt.Errorf("--steps %d, --every %d: want 0 or more, and 1 or more", opt.Steps, opt.Every)}
	}
	if opt.Steps == 0 && rows.loader != nil && !rows.training.LoaderEnds() {
		return nil, inputError{errors.New("this loader never ends: say with --steps how many")}
	}
	r := &epochRun{result: &EpochResult{Net: s.Name, Data: rows.Name}, opt: opt, show: show, all: newMeans(), part: newMeans()}
	return r.result, s.train(func(*trainer.Config) {}, func(t *trainer.Trainer, _ *trainer.Config) error { return r.run(ctx, t, s, rows) })
}

type epochRun struct {
	result    *EpochResult
	opt       EpochOptions
	show      func(EpochPoint) error
	all, part *means // over all steps, and over those since the last point
	mark      time.Time
	last      trainer.StepStats
	waited    time.Duration
}

// run restores the checkpoint's state, takes the steps and sums up.
func (e *epochRun) run(ctx context.Context, t *trainer.Trainer, s *Subject, rows *Rows) (err error) {
	if s.Checkpoint != nil && s.Weights == monitor.WeightsRaw {
		if _, err := s.Checkpoint.Restore([]stage.Section{t.Section()}); err != nil {
			return err
		}
	}
	src, end := rows.Epoch()
	defer func() { err = errors.Join(err, end()) }()
	began := time.Now()
	e.mark = began
	r := e.result
	for !r.Ended && (e.opt.Steps == 0 || r.Steps < int64(e.opt.Steps)) {
		if err := e.step(ctx, t, src); err != nil {
			return err
		}
	}
	if r.Steps == 0 {
		return inputError{fmt.Errorf("data %s holds no rows to train on; name other data", r.Data)}
	}
	r.Seconds = time.Since(began).Seconds()
	r.StepsPerSecond, r.RowsPerSecond = monitor.Number(float64(r.Steps)/r.Seconds), monitor.Number(float64(r.Rows)/r.Seconds)
	r.DataShare, r.Losses = monitor.Number(e.waited.Seconds()/r.Seconds), e.all.losses()
	if e.part.rows > 0 {
		return e.point()
	}
	return nil
}

// step takes one step, or notes that the data have ended.
func (e *epochRun) step(ctx context.Context, t *trainer.Trainer, src trainer.BatchSource) error {
	step, err := t.Step(ctx, src)
	if errors.Is(err, io.EOF) {
		e.result.Ended = true
		return nil
	}
	if err != nil {
		return err
	}
	e.last = step
	e.waited += step.DataTime
	e.result.Rows += int64(step.Rows)
	e.result.Steps++
	if step.Skipped {
		e.result.Skipped++
	}
	e.all.add(&step)
	e.part.add(&step)
	if e.result.Steps%int64(e.opt.Every) == 0 {
		return e.point()
	}
	return nil
}

// point reports the steps since the last point.
func (e *epochRun) point() error {
	p := EpochPoint{Step: e.last.Step, Rows: e.result.Rows, LR: e.last.LR, Loss: e.part.objective(), Losses: e.part.losses(),
		PerSec: monitor.Number(float64(e.part.rows) / time.Since(e.mark).Seconds()), Skipped: e.result.Skipped}
	e.part, e.mark = newMeans(), time.Now()
	return e.show(p)
}

// means adds up the losses of steps; each step counts as its rows.
type means struct {
	rows   int
	sum    map[string]float64
	weight map[string]float64
	total  float64
}

func newMeans() *means { return &means{sum: map[string]float64{}, weight: map[string]float64{}} }

func (m *means) add(s *trainer.StepStats) {
	m.rows += s.Rows
	m.total += s.Objective * float64(s.Rows)
	for _, l := range s.Losses {
		w := float64(cmp.Or(l.N, s.Rows))
		if l.Mean == l.Mean {
			m.sum[l.Metric] += w * l.Mean
			m.weight[l.Metric] += w
		}
	}
}

func (m *means) objective() monitor.Number { return monitor.Number(m.total / float64(m.rows)) }

func (m *means) losses() monitor.Numbers {
	n := monitor.Numbers{}
	for name, sum := range m.sum {
		n[name] = monitor.Number(sum / m.weight[name])
	}
	return n
}
