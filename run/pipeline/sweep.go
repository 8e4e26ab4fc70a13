package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run/cycle"
	"github.com/chessbrain/chessbrain/run/setup"
)

// SweepOptions say what a sweep trains.
type SweepOptions struct {
	Grid    []Axis
	Data    []string // shuffles with training and validation rows, or directories whose newest one is meant
	Samples int64    // that each trial sees; 0 = Epochs passes
	Training
}

// sweepFile is sweep.json's frame: what all trials have in common.
type sweepFile struct {
	Version int      `json:"version"`
	Data    []string `json:"data"`
	Rows    int64    `json:"training_rows"`
	Held    int64    `json:"validation_rows"`
	Samples int64    `json:"samples"`
	Seed    uint64   `json:"seed"`
	Base    string   `json:"base"` // configuration that the grid varies
	Grid    []Axis   `json:"grid"`
	Best    string   `json:"best,omitempty"`
	Results []Result `json:"results"`
}

// sweep is a sweep under way, and the book of its trials. One goroutine.
type sweep struct {
	SweepOptions
	table sweepFile
	data  string // directory with the one shuffle of all trials
}

// Sweep trains the trials of a grid one after the other, each in a directory of
// its own, on the same rows, and measures them on the same validation rows. The
// rows are linked into Results first: what becomes of Data does not change them. A
// trial that is done is not done again; one that was stopped goes on. After each
// one Results/sweep.csv and sweep.json have the table, and Results/best is a link
// to the best. A trial whose loss is not finite is one more result; any other
// failure ends the sweep.
func Sweep(ctx context.Context, opt SweepOptions) (*SweepReport, error) {
	s := &sweep{SweepOptions: opt, data: filepath.Join(opt.Results, "data")}
	trials, err := s.Check()
	if err != nil {
		return nil, err
	}
	lock, err := hold(opt.Results, ".sweep.lock", opt.Command)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	if err := s.open(trials); err != nil {
		return nil, err
	}
	_, err = cycle.Do(ctx, s)
	err = errors.Join(err, s.write())
	return &SweepReport{s.table.Best, s.Grid, s.table.Results, s.Results}, err
}

// Next is the first trial without a result.
func (s *sweep) Next() (cycle.Stage, cycle.Work, bool) {
	for i := range s.table.Results {
		if r := &s.table.Results[i]; r.Status == TrialToDo {
			return cycle.Stage(r.Name), func(ctx context.Context, _ cycle.Todo) (skip string, err error) { return "", s.one(ctx, r) }, true
		}
	}
	return "", nil, false
}

// Begin writes nothing: a trial's own directory says how far it is.
func (s *sweep) Begin(cycle.Stage) (cycle.Todo, error) { return cycle.Todo{}, nil }

// End writes the table. A trial that failed is next again.
func (s *sweep) End(trial cycle.Stage, _ string, err error) error {
	if err != nil {
		return fmt.Errorf("trial %s: %w", trial, err)
	}
	return s.write()
}

// Check refuses trials that cannot be trained, before anything is made, and
// returns them all.
func (o *SweepOptions) Check() ([]Trial, error) {
	if o.Samples < 0 || o.Samples > 1<<50 || o.Epochs < 1 || o.Epochs > 1e6 {
		return nil, fmt.Errorf("--samples %d, --epochs %d: want 0 or more, and 1 to 1000000", o.Samples, o.Epochs)
	}
	if len(o.Data) == 0 {
		return nil, fmt.Errorf("%w: --data names no shuffle", prepare.ErrNoInput)
	}
	for _, dir := range o.Data {
		if m, _, err := prepare.ReadShuffle(dir); err != nil {
			return nil, fmt.Errorf("--data: %w", err)
		} else if m == nil {
			return nil, fmt.Errorf("--data: %w: %s holds no finished shuffle: run chessbrain shuffle", prepare.ErrNoInput, dir)
		}
	}
	if err := o.notOverridden(); err != nil {
		return nil, err
	}
	trials, err := Trials(o.Grid)
	if err != nil {
		return nil, err
	}
	for _, t := range trials {
		e, err := o.config(t, o.Data[0], 1, 0.05)
		if err := checkPlan(setup.DryRunStep)(e, err); err != nil {
			return nil, fmt.Errorf("trial %s: %w", t.Name, err)
		}
	}
	return trials, nil
}

// notOverridden refuses a grid of a field that --override-config sets: that would
// win, and the trials would all be the same.
func (o *SweepOptions) notOverridden() error {
	flags := config.NewFlagSet(config.TrainGroups...)
	for _, a := range o.Grid {
		path := a.Name
		if v := flags.Lookup(a.Name); v != nil {
			path = v.Flag().Path
		}
		for _, text := range o.Config.Overrides {
			for _, part := range strings.Split(text, ",") {
				if set, _, ok := strings.Cut(part, "="); ok && set == path {
					return fmt.Errorf("--grid varies %s, which --override-config sets (%s): keep one of the two", a.Name, part)
				}
			}
		}
	}
	return nil
}

// config is the configuration of a trial. share is of the validation games.
func (o *SweepOptions) config(t Trial, data string, steps int64, share float64) (*config.Effective, error) {
	flags := []setting{{"run-dir", filepath.Join(o.Results, t.Name)}, {"name", t.Name}, {"source", "SHUFFLED"}, {"source-dir", data},
		{"steps", steps}, {"seed", o.Seed}, {"validation-share", share}}
	source := o.Config
	for i, a := range o.Grid {
		if strings.Contains(a.Name, ".") {
			source.Overrides = append(source.Overrides[:len(source.Overrides):len(source.Overrides)], a.Name+"="+t.Values[i])
			continue
		}
		flags = append(flags, setting{a.Name, t.Values[i]}) // seed comes twice then: the last one counts
	}
	return source.resolve(config.TrainGroups, flags)
}

// pinned names the one shuffle that a sweep trains on.
var pinned = time.Unix(0, 0).UTC()

// open pins the data and reads what is done.
func (s *sweep) open(trials []Trial) error {
	var inputs []prepare.Input
	for _, dir := range s.Data {
		inputs = append(inputs, prepare.Input{Dir: dir})
	}
	made, err := prepare.Mix(inputs, s.data, s.Seed, pinned)
	if err != nil {
		return err
	}
	switch {
	case made.TrainRows == 0:
		return fmt.Errorf("%w: %v have no row to train on", prepare.ErrNoInput, made.InputDirs)
	case made.HeldRows == 0:
		return fmt.Errorf("%w: %v hold no row out, so trials could not be compared: shuffle more games, or with a larger --validation-share", prepare.ErrNoInput, made.InputDirs)
	}
	base, err := s.Config.resolve(config.TrainGroups, nil)
	if err != nil {
		return err
	}
	s.table = sweepFile{Version: 1, Data: made.InputDirs, Rows: made.TrainRows, Held: made.HeldRows, Samples: cmp.Or(s.Samples, made.TrainRows*s.Epochs), Seed: s.Seed,
		Base: string(config.Marshal(base.Config)), Grid: s.Grid}
	if err := s.compare(made); err != nil {
		return err
	}
	for _, t := range trials {
		r := Result{Trial: t, Status: TrialToDo}
		if err := readJSON(filepath.Join(s.Results, t.Name, trialFile), &r); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if r.Status != TrialToDo {
			s.Log.Info("trial was done before", "trial", r.Name, "loss", r.Loss)
		}
		s.table.Results = append(s.table.Results, r)
	}
	return s.write()
}

// compare refuses a directory whose trials were trained on other rows.
func (s *sweep) compare(made *shuffle.Manifest) error {
	other := func(what string, have, want any) error {
		return fmt.Errorf("%w: %s holds a sweep of other %s (%v, now %v); choose another --results-dir", prepare.ErrOther, s.Results, what, have, want)
	}
	if !slices.EqualFunc(made.InputDirs, s.Data, func(have, want string) bool {
		have, want = filepath.Clean(have), filepath.Clean(want)
		return have == want || filepath.Dir(have) == want // a newer shuffle in the same directory is no other data
	}) {
		return other("data", made.InputDirs, s.Data)
	}
	var old sweepFile
	err := readJSON(filepath.Join(s.Results, sweepJSON), &old)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case old.Samples != s.table.Samples:
		return other("samples", old.Samples, s.table.Samples)
	case old.Seed != s.table.Seed:
		return other("seed", old.Seed, s.table.Seed)
	case old.Base != s.table.Base:
		return other("configuration", "--config and --override-config as in "+sweepJSON, "others")
	}
	return nil
}
