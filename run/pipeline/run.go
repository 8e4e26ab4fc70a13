package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/run/cycle"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Check refuses what cannot work, before anything is made.
func Check(opt Options) error {
	if err := opt.validate(); err != nil {
		return err
	}
	s, err := opt.sources()
	if err == nil {
		err = opt.checkInputs(s)
	}
	if err != nil {
		return err
	}
	if opt.runs(SelfPlay) {
		if err := checkPlan(setup.DryRunSelfPlay)(opt.playing(0, "")); err != nil {
			return fmt.Errorf("step %s: %w", SelfPlay, err)
		}
	}
	if opt.runs(Train) || opt.runs(Shuffle) {
		e, err := opt.training(opt.Dir(Shuffle), 1, "")
		if err := checkPlan(setup.DryRunStep)(e, err); err != nil {
			return fmt.Errorf("step %s: %w", Train, err)
		}
		return s.checkSplit(setup.TrainingOf(e).Window)
	}
	return nil
}

// checkPlan holds a configuration against what a command can do.
func checkPlan(plan func(*config.Effective, io.Writer) error) func(*config.Effective, error) error {
	return func(e *config.Effective, err error) error {
		if err != nil {
			return err
		}
		return errors.Join(setup.CheckDevices(e, true), plan(e, io.Discard))
	}
}

// pass is a run under way, and the book of its steps. One goroutine.
type pass struct {
	Options
	state   *State
	sources *sources
	began   time.Time // the step under way
}

// Run runs the steps, or goes on with a run of this T. The result is the state at
// its end, also beside an error. Errors: run.ErrInterrupted and context.Canceled
// after a stop (all work is kept, the same call goes on); prepare.ErrNoInput;
// *fsx.LockedError where another run works in Base; those of the steps.
func Run(ctx context.Context, opt Options) (*State, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	r := &pass{Options: opt}
	var err error
	if r.sources, err = opt.sources(); err != nil {
		return nil, err
	}
	lock, err := hold(opt.Base, ".pipeline.lock", opt.Command)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	if err := r.open(); err != nil {
		return nil, err
	}
	if _, err := cycle.Do(ctx, r); err != nil {
		return r.state, err
	}
	if r.Cleanup {
		if err := r.cleanup(); err != nil {
			return r.state, err
		}
	}
	r.state.Done = true
	return r.state, r.state.write(r.Base)
}

// hold makes a directory and takes a lock in it.
func hold(dir, name, command string) (*fsx.Lock, error) {
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	return fsx.Acquire(filepath.Join(dir, name), fsx.LockOptions{Command: command})
}

// open reads the run's state, or begins it.
func (r *pass) open() error {
	var err error
	r.state, err = ReadState(r.Base, r.T)
	switch {
	case err == nil:
		if why := r.state.Differs(r.Settings); why != "" {
			return fmt.Errorf("%w: run %s was asked for otherwise: %s", prepare.ErrOther, r.T, why)
		}
		for _, s := range r.state.Steps {
			if s.Done {
				r.Log.Info("step was done before", "step", s.Step, "dir", s.Dir)
			}
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := r.checkInputs(r.sources); err != nil {
		return err
	}
	r.state = &State{Version: stateVersion, T: r.T, Program: r.Version, Settings: r.Settings, Steps: r.plan()}
	if err := r.keepNet(); err != nil {
		return err
	}
	return r.state.write(r.Base)
}

// steps are what the steps do. What one comes to is in its entry of the state.
var steps = map[string]func(r *pass, ctx context.Context, s *StepState) error{
	SelfPlay: (*pass).selfPlay, Preprocess: (*pass).preprocess, Process: (*pass).process, Shuffle: (*pass).shuffle, Train: (*pass).train}

// Next is the first step that is not done.
func (r *pass) Next() (cycle.Stage, cycle.Work, bool) {
	for i := range r.state.Steps {
		if s := &r.state.Steps[i]; !s.Done {
			return cycle.Stage(s.Step), func(ctx context.Context, _ cycle.Todo) (skip string, err error) { return "", steps[s.Step](r, ctx, s) }, true
		}
	}
	return "", nil, false
}

// Begin begins a step. One whose manifest says that it is done is not done again: a
// kill may come between that and the run's own state.
func (r *pass) Begin(stage cycle.Stage) (cycle.Todo, error) {
	s := r.state.step(string(stage))
	r.Log.Info("step begins", "step", s.Step, "dir", s.Dir)
	r.began = time.Now()
	m, err := prepare.ReadManifest(fsx.OS, s.Dir)
	if err != nil || !m.Done || m.Step != s.Step { // the step says what is wrong with it
		return cycle.Todo{}, nil
	}
	s.count(m)
	return cycle.Todo{Done: true}, r.End(stage, "", nil)
}

// End writes that a step is done. One that failed is next again.
func (r *pass) End(stage cycle.Stage, _ string, err error) error {
	if err != nil {
		return fmt.Errorf("step %s: %w", stage, err)
	}
	s := r.state.step(string(stage))
	s.Done, s.Seconds = true, time.Since(r.began).Seconds()
	r.Log.Info("step is done", "step", s.Step, "dir", s.Dir, "games", s.Games, "rows", s.Rows, "seconds", s.Seconds)
	return r.state.write(r.Base)
}

// count notes what a step came to.
func (s *StepState) count(m *prepare.Manifest) {
	s.Games, s.Rows, s.Files = m.Counts.Games, m.Counts.Rows, len(m.Files)
}

// usedUp names the steps that use up what a step made.
var usedUp = map[string][]string{Preprocess: {Process, Shuffle}, Process: {Shuffle}}

// cleanup removes what this run made on the way and a later step has used up.
func (r *pass) cleanup() error {
	for i := range r.state.Steps {
		s := &r.state.Steps[i]
		if s.Removed || !slices.ContainsFunc(usedUp[s.Step], r.runs) {
			continue
		}
		removed, err := r.remove(s.Dir)
		if err != nil {
			return err
		}
		if s.Removed = removed; removed {
			if err := r.state.write(r.Base); err != nil {
				return err
			}
		}
	}
	if !r.runs(Shuffle) {
		return nil
	}
	_, err := r.remove(r.buckets())
	return err
}

// remove removes what a manifest lists and says whether the directory is gone.
func (r *pass) remove(dir string) (bool, error) {
	done, err := prepare.Cleanup(fsx.OS, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed before a kill
	case errors.Is(err, prepare.ErrPinned):
		r.Log.Info("clean-up leaves a pinned directory alone", "dir", dir)
		return false, nil
	case err != nil:
		return false, err
	default:
		for _, k := range done.Kept {
			r.Log.Warn("clean-up leaves a file alone", "file", filepath.Join(dir, k.File), "reason", k.Reason)
		}
		r.Log.Info("clean-up", "dir", dir, "files", len(done.Removed), "bytes", done.Bytes)
	}
	_, err = os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist), nil
}
