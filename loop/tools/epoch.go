package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chessbrain/chessbrain/monitor"
	"github.com/chessbrain/chessbrain/stage"
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
// checkpoint goes on with its moments and its place in the schedule. show, if not
// nil, gets a point every so many steps.
func TrainEpoch(ctx context.Context, s *Subject, rows *Rows, opt EpochOptions, show func(EpochPoint) error) (*EpochResult, error) {
	if opt.Steps < 0 || opt.Every < 1 {
		return nil, inputError{fmt.Errorf("steps %d, every %d: want 0 or more, and 1 or more", opt.Steps, opt.Every)}
	}
	if opt.Steps == 0 && rows.loader != nil && !rows.ends(s) {
		return nil, inputError{errors.New("this loader never ends: say how many steps")}
	}
	c, err := s.trainerConfig(0)
	if err != nil {
		return nil, err
	}
	t, err := s.newTrainer(c)
	if err != nil {
		return nil, err
	}
	r := &EpochResult{Net: s.Name, Data: rows.Name}
	err = r.run(ctx, t, s, rows, opt, show)
	return r, errors.Join(err, t.Close())
}

// ends says whether a loader hands its data out a stated number of times.
func (r *Rows) ends(s *Subject) bool {
	for _, st := range s.Effective.Config.GetDataLoader().GetStage() {
		if p := st.GetShufflingChunkPool(); p != nil && p.GetEpochs() == 0 {
			return false
		}
		if p := st.GetSimpleChunkExtractor(); p != nil && p.GetEpochs() == 0 {
			return false
		}
		if p := st.GetFilePathProvider(); p != nil && p.GetWatch() {
			return false
		}
	}
	return true
}

// run restores the checkpoint's state and takes the steps.
func (r *EpochResult) run(ctx context.Context, t *trainer.Trainer, s *Subject, rows *Rows, opt EpochOptions, show func(EpochPoint) error) (err error) {
	if s.Checkpoint != nil && s.Weights == monitor.WeightsRaw {
		if _, err := s.Checkpoint.Restore([]stage.Section{t.Section()}); err != nil {
			return err
		}
	}
	src, end := rows.Epoch(s)
	defer func() { err = errors.Join(err, end()) }()
	all, part := newMeans(), newMeans()
	began, waited := time.Now(), time.Duration(0)
	mark := began
	var last trainer.StepStats
	point := func() error {
		p := EpochPoint{Step: last.Step, Rows: r.Rows, LR: last.LR, Loss: part.objective(), Losses: part.losses(),
			PerSec: monitor.Number(float64(part.rows) / time.Since(mark).Seconds()), Skipped: r.Skipped}
		part, mark = newMeans(), time.Now()
		if show == nil {
			return nil
		}
		return show(p)
	}
	for n := 1; opt.Steps == 0 || n <= opt.Steps; n++ {
		step, err := t.Step(ctx, src)
		if errors.Is(err, io.EOF) {
			r.Ended = true
			break
		}
		if err != nil {
			return err
		}
		last = step
		waited += last.DataTime
		r.Rows += int64(last.Rows)
		if r.Steps++; last.Skipped {
			r.Skipped++
		}
		all.add(&last)
		part.add(&last)
		if n%opt.Every == 0 {
			if err := point(); err != nil {
				return err
			}
		}
	}
	if r.Steps == 0 {
		return inputError{fmt.Errorf("data %s holds no rows to train on; name other data", r.Data)}
	}
	r.Seconds = time.Since(began).Seconds()
	if part.rows > 0 {
		if err := point(); err != nil {
			return err
		}
	}
	r.StepsPerSecond, r.RowsPerSecond = monitor.Number(float64(r.Steps)/r.Seconds), monitor.Number(float64(r.Rows)/r.Seconds)
	r.DataShare, r.Losses = monitor.Number(waited.Seconds()/r.Seconds), all.losses()
	return nil
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
		w := float64(s.Rows)
		if l.N > 0 {
			w = float64(l.N)
		}
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
