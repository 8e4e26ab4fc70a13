package cycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

// Options start a closed loop.
type Options struct {
	Effective *config.Effective
	Command   string // for the locks
	Version   string // of the program
	Log       *slog.Logger
	Readers   []monitor.Sink // attached to the events of the cycle and of its stages, such as Prometheus
	Progress  monitor.Sink   // of training; may block: the terminal; nil = none

	// Reload asks, by each value, to read the configuration file again before the
	// next stage; nil = never.
	Reload <-chan os.Signal

	// Stage is the one stage to be done; "" = all of them, in a circle.
	Stage Stage

	works map[Stage]Work // for tests; nil = the real ones
}

// runner is a closed loop at work, and the Book of its stages. One goroutine uses
// it, but for page.
type runner struct {
	opt     Options
	started *config.Effective // as given, or read again
	e       *config.Effective // settled
	log     *slog.Logger
	root    string
	dir     run.Dir
	job     string
	desk    *desk
	works   map[Stage]Work
	locks   []*fsx.Lock
	bus     *monitor.Bus
	files   *monitor.Files
	control *run.Control
	page    run.Shared[Page]
	began   time.Time
	first   struct{ cycles, games int64 } // at the start of this process
	reason  string                        // why it ended
	worked  time.Time                     // when the stage under way began
	said    string                        // what became of a single stage
	again   string                        // why self-play goes on after a single shuffle; "" = it does not
}

// Run goes round until a stop condition of the configuration holds, or until ctx
// ends: then the stage under way saves its work and the error is
// run.ErrInterrupted. Run goes on where the last one ended, or was killed. With
// Options.Stage it does that stage, or says in a *StageError why it does not. The
// summary is nil where the run could not be opened.
func Run(ctx context.Context, opt Options) (*Summary, error) {
	r := &runner{opt: opt, started: opt.Effective, log: opt.Log, began: time.Now()}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.close(err))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err := r.listen(stop)
	switch {
	case err != nil:
	case opt.Stage != "":
		err = r.single(ctx, opt.Stage)
	default:
		err = r.cycles(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = run.ErrInterrupted
	}
	return r.summary(), errors.Join(err, r.close(err))
}

// open takes the run for this process and reads how far it is.
func (r *runner) open() (err error) {
	if r.e, err = Settle(r.started); err != nil {
		return err
	}
	r.root = r.e.Config.GetRunDir()
	if err = r.takeLocks(); err != nil {
		return err
	}
	var info run.RunInfo
	if r.dir, info, err = train.Begin(r.options()); err != nil {
		return err
	}
	r.job = info.Job
	for _, name := range []string{modelsDir, testedDir, selfplayDir} {
		if err := fsx.MkdirAll(fsx.OS, r.path(name)); err != nil {
			return fmt.Errorf("make run directory: %w", err)
		}
	}
	if r.desk, err = openDesk(r.e.Config); err != nil {
		return err
	}
	r.first.cycles, r.first.games = r.desk.state.Cycles, r.desk.state.Games
	if r.works = r.opt.works; r.works == nil {
		r.works = r.stages()
	}
	return r.openEvents()
}

// options are those of a training start; a stage adds what it needs.
func (r *runner) options() train.Options {
	return train.Options{Training: setup.TrainingOf(r.e), Command: r.opt.Command, Version: r.opt.Version, Log: r.log, Readers: r.opt.Readers,
		Progress: r.opt.Progress, Locked: true}
}

// cycles does one cycle after the other.
func (r *runner) cycles(ctx context.Context) error {
	if err := r.desk.start(); err != nil {
		return err
	}
	for {
		var err error
		if r.reason, err = Do(ctx, r, r.works); err != nil {
			return err
		}
		if r.reason != "" {
			r.log.Info("the run is done", "reason", r.reason)
			return nil
		}
		if err := r.finish(); err != nil {
			return err
		}
	}
}

// Next is the stage that the journal has next.
func (r *runner) Next() (Stage, bool) { return r.desk.state.Next() }

// Begin writes that a stage begins, and tells everybody. The configuration is that
// of the newest reload.
func (r *runner) Begin(stage Stage) (Todo, error) {
	if err := errors.Join(r.bus.Err(), r.lockLost()); err != nil {
		return Todo{}, err
	}
	r.reload()
	todo, err := r.desk.begin(stage)
	if err != nil || todo.Stop != "" || todo.Done {
		return todo, err
	}
	r.page.Set(func(p *Page) {
		*p = Page{Job: r.job, Cycle: todo.Cycle, Stage: stage, Since: time.Now().UTC(), Games: todo.Games}
	})
	r.log.Info("stage", "cycle", todo.Cycle, "stage", stage)
	r.bus.Publish(&monitor.Stage{Name: string(stage), State: "started", Detail: fmt.Sprintf("cycle %d", todo.Cycle)})
	r.worked = time.Now()
	return todo, nil
}

// End writes how a stage ended. A shuffle that has too few rows is no failure:
// self-play is next then, where more games are allowed.
func (r *runner) End(stage Stage, skip string, err error) error {
	event := &monitor.Stage{Name: string(stage), State: "finished", Detail: skip, Seconds: monitor.Number(time.Since(r.worked).Seconds())}
	if short, ok := errors.AsType[*shuffle.ShortError](err); ok {
		words, more, err := r.desk.short(short)
		if more > 0 {
			r.again = words
		}
		event.Detail = words
		r.bus.Publish(event)
		r.log.Info(words)
		return err
	}
	if err != nil {
		event.State, event.Detail = "failed", err.Error()
		r.bus.Publish(event)
		return err
	}
	r.bus.Publish(event)
	if skip != "" {
		r.log.Info("nothing to do", "stage", stage, "reason", skip)
	}
	return r.desk.end(stage, skip)
}

// finish ends a cycle and says what it came to.
func (r *runner) finish() error {
	if err := r.desk.finish(); err != nil {
		return err
	}
	s := r.desk.state
	r.log.Info("cycle done", "cycle", s.Cycle-1, "games", s.Games, "net", newestNet(r.root), "worked", s.Worked.Round(time.Second))
	return nil
}

// reload reads the configuration file again, where that was asked for. One with a
// fault changes nothing.
func (r *runner) reload() {
	select {
	case <-r.opt.Reload:
	default:
		return
	}
	started, err := r.started.Reload()
	if err == nil {
		var settled *config.Effective
		if settled, err = Settle(started); err == nil {
			diff := config.Compare(r.e.Config, settled.Config)
			if err = diff.Err(); err == nil {
				for _, c := range diff.Logged {
					r.log.Info("configuration changed", "change", c.String())
				}
				r.started, r.e, r.desk.cfg = started, settled, settled.Config
			}
		}
	}
	if err != nil {
		r.log.Error("the configuration was read again and is not used", "error", err)
	}
}
