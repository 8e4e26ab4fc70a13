package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// BackfillOptions say which checkpoints are measured, on what, and where the events
// go.
type BackfillOptions struct {
	Path   string                            // a run, or a directory of checkpoints
	Config string                            // "" = that of the run
	Data   string                            // see OpenRows; the validation games are those of the newest checkpoint, for all
	Rows   int                               // at most, evenly spread; 0 = all
	Since  int64                             // checkpoints of earlier steps are left out
	Out    string                            // metrics directory; "" = beside that of the run: <job>-backfill
	Show   func(e *monitor.Validation) error // gets every event that is written
}

// BackfillResult says what was done.
type BackfillResult struct {
	Out         string   `json:"out"`
	Data        string   `json:"data"`
	Checkpoints int      `json:"checkpoints"` // looked at
	Written     int      `json:"written"`     // events
	There       int      `json:"there"`       // events of an earlier call
	Problems    []string `json:"problems,omitempty"`
}

// Backfill measures the losses of old checkpoints, raw weights and averages, and
// appends them as validation events with the checkpoints' own steps and times. A
// second call adds only what is missing. The events have a directory of their own:
// a restart of the run cuts its metrics back to its checkpoint, and would cut them
// off.
func Backfill(ctx context.Context, opt BackfillOptions) (r *BackfillResult, err error) {
	newest, err := OpenRun(opt.Path, SubjectOptions{Config: opt.Config})
	if err != nil {
		return nil, err
	}
	if opt.Out == "" {
		if newest.Run == "" {
			return nil, inputError{fmt.Errorf("%s lies in no run directory: say with --out where the events go, and with --config how nets are trained", opt.Path)}
		}
		dir, _, err := setup.OpenDir(newest.Run)
		if err != nil {
			return nil, err
		}
		opt.Out = dir.Learning + "-backfill"
	}
	rows, err := OpenRows(ctx, newest, opt.Data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if rows.loader != nil {
		return nil, inputError{errors.New("a loader gives other rows each time: name a directory of games or of shuffles")}
	}
	b := &backfill{opt: opt, rows: rows, newest: newest, result: &BackfillResult{Out: opt.Out, Data: opt.Data}}
	for _, p := range rows.Problems {
		b.result.Problems = append(b.result.Problems, p.Error())
	}
	return b.result, b.run(ctx, filepath.Dir(newest.Checkpoint.Path))
}

type backfill struct {
	opt    BackfillOptions
	rows   *Rows
	newest *Subject // whose configuration counts
	result *BackfillResult
	there  map[eventKey]bool
	bus    *monitor.Bus
}

// eventKey is what makes an event the same as another.
type eventKey struct {
	job     string
	step    int64
	weights string
}

// run measures the checkpoints of a directory.
func (b *backfill) run(ctx context.Context, dir string) (err error) {
	if err := fsx.MkdirAll(fsx.OS, b.opt.Out); err != nil {
		return fmt.Errorf("make metrics directory: %w", err)
	}
	lock, err := fsx.Acquire(filepath.Join(b.opt.Out, ".backfill"), fsx.LockOptions{Command: "chessbrain backfill-metrics"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := b.checkPurpose(); err != nil {
		return err
	}
	files, err := b.openFiles()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.bus.Err(), files.Close()) }()
	names, err := checkpoint.List(fsx.OS, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, step, _ := checkpoint.ParseName(name); step < b.opt.Since {
			continue
		}
		b.result.Checkpoints++
		if err := b.checkpoint(ctx, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// purpose is what the events of a directory were measured on and of: events of
// another kind must not stand beside them.
type purpose struct {
	Version int      `json:"version"`
	Data    string   `json:"data"`
	Rows    int      `json:"max_rows"`
	Losses  []string `json:"losses"` // as they are configured
}

// checkPurpose writes the purpose, or holds it against the one that is there.
func (b *backfill) checkPurpose() error {
	c, err := setup.TrainerConfig(b.newest.Effective.Config, b.newest.Net.Arch)
	if err != nil {
		return err
	}
	want := purpose{Version: 1, Data: b.opt.Data, Rows: b.opt.Rows}
	for _, l := range c.Losses {
		text := fmt.Sprintf("%s: %s %s target %d", l.Metric, l.Head, l.Kind, l.Target)
		if l.Mix != nil {
			text += fmt.Sprintf(" q_ratio %g of %d", l.Mix.QRatio, l.Mix.Other)
			if l.Mix.Schedule != nil {
				text += fmt.Sprintf(", by step %v", l.Mix.Schedule)
			}
		}
		if l.Kind == trainer.OptimisticCross {
			text += fmt.Sprintf(" strength %g", l.Strength)
		}
		want.Losses = append(want.Losses, text)
	}
	path := filepath.Join(b.opt.Out, "backfill.json")
	var have purpose
	there, err := run.ReadJSON(path, &have)
	switch {
	case there && err != nil:
		return &checkpoint.CorruptError{Path: path, Reason: err.Error()}
	case err != nil:
		return err
	case !there:
		return run.WriteJSON(path, want)
	case !reflect.DeepEqual(have, want):
		return inputError{fmt.Errorf("%s holds events of other data or losses (%s); give the same --data, --rows and configuration, or another --out", b.opt.Out, path)}
	}
	return nil
}

// openFiles opens the events for appending, cut after their last whole line, and
// notes which are there. The TensorBoard file is made anew from them.
func (b *backfill) openFiles() (*monitor.Files, error) {
	b.there = map[eventKey]bool{}
	path := filepath.Join(b.opt.Out, monitor.MetricsName)
	var info monitor.ReplayInfo
	f, err := fsx.Open(path)
	if err == nil {
		info, err = monitor.Replay(f, func(e monitor.Event) error {
			if v, ok := e.(*monitor.Validation); ok {
				b.there[eventKey{v.Job, v.Step, v.Weights}] = true
			}
			return nil
		})
		err = errors.Join(err, f.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	state := monitor.FilesState{MetricsOffset: info.Bytes, Seq: info.Seq}
	found, err := filepath.Glob(filepath.Join(b.opt.Out, "events.out.tfevents.*"))
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		// An end beyond that of the file: it is rebuilt.
		state.EventsFile, state.EventsOffset = filepath.Base(found[len(found)-1]), 1<<62
	}
	files, _, err := monitor.OpenFiles(monitor.FilesOptions{Dir: b.opt.Out, Job: filepath.Base(b.opt.Out), TensorBoard: true}, state)
	if err != nil {
		return nil, err
	}
	b.bus = monitor.NewBus(monitor.BusOptions{Seq: info.Seq})
	b.bus.Attach(files)
	return files, nil
}

// checkpoint measures one checkpoint. Damage is noted, and the others go on.
func (b *backfill) checkpoint(ctx context.Context, path string) error {
	c, err := checkpoint.Open(fsx.OS, path)
	if err != nil {
		b.result.Problems = append(b.result.Problems, err.Error())
		return nil
	}
	created, err := time.Parse(time.RFC3339, c.Manifest.Created)
	if err != nil {
		b.result.Problems = append(b.result.Problems, fmt.Sprintf("checkpoint %s does not say when it was written: %v", path, err))
		return nil
	}
	kinds := []string{monitor.WeightsRaw}
	if setup.HasAverage(c) {
		kinds = append(kinds, monitor.WeightsSWA)
	}
	for _, weights := range kinds {
		if b.there[eventKey{c.Manifest.Job, c.Manifest.Step, weights}] {
			b.result.There++
			continue
		}
		s := &Subject{Name: c.Manifest.Name, Effective: b.newest.Effective, Checkpoint: c}
		if err := s.take(weights); err != nil {
			return err
		}
		e, err := b.measure(ctx, s)
		if err != nil {
			return err
		}
		e.Time = created
		b.bus.Publish(e)
		if err := b.bus.Err(); err != nil {
			return err
		}
		b.result.Written++
		if err := b.opt.Show(e); err != nil {
			return err
		}
	}
	return nil
}

// measure evaluates a net and makes the event.
func (b *backfill) measure(ctx context.Context, s *Subject) (*monitor.Validation, error) {
	r, err := Eval(ctx, s, b.rows, EvalOptions{Rows: b.opt.Rows})
	if err != nil {
		return nil, err
	}
	episode, err := train.CheckpointEpisode(s.Checkpoint)
	if err != nil {
		return nil, err
	}
	e := &monitor.Validation{Header: monitor.Header{Job: s.Checkpoint.Manifest.Job}, Step: s.Checkpoint.Manifest.Step, Episode: episode,
		Weights: s.Weights, Rows: r.Rows, Games: r.Games, Losses: monitor.Numbers{}, StdErrs: monitor.Numbers{},
		PolicyEntropy: r.PolicyEntropy, TargetEntropy: r.TargetEntropy, LegalEntropy: r.LegalEntropy,
		PolicyAcc: r.PolicyAccuracy, ValueAcc: r.ValueAccuracy}
	for _, l := range r.Losses {
		e.Losses[l.Metric], e.StdErrs[l.Metric] = l.Mean, l.StdErr
	}
	return e, nil
}
