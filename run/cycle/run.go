package cycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/alarms"
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
	Progress  monitor.Sink   // may block: the terminal; nil = none

	// Reload asks, by each value, to read the configuration file again before the
	// next stage; nil = never.
	Reload <-chan os.Signal

	// Stage is the one stage to be done; "" = all of them, in a circle.
	Stage Stage

	Share setup.ShareMatch // games of matches with other machines

	works map[Stage]Work // for tests; nil = the real ones
}

// loop is a closed loop at work, and the Book of its stages. One goroutine uses it,
// but for page.
type loop struct {
	Options
	cfg     *setup.Cycle
	dir     run.Dir
	process *run.Process
	journal *Journal
	state   *State
	page    run.Shared[Page]
	summary Summary
	again   string // why self-play goes on after a single shuffle; "" = it does not
	err     error  // what the loop came to
}

// Run goes round until a stop condition of the configuration holds, or until ctx
// ends: then the stage under way saves its work and the error is
// run.ErrInterrupted. Run goes on where the last one ended, or was killed. With
// Options.Stage it does that stage, or says in a *StageError why it does not. The
// summary is nil where the run could not be opened.
//
// It takes the whole run; the shuffler's role, which chessbrain shuffle takes without
// the run; and last the role of who keeps the journal of cycles. A single stage shares
// the run: other players may work beside it.
func Run(ctx context.Context, opt Options) (*Summary, error) {
	l, began := &loop{Options: opt}, time.Now()
	var err error
	if l.cfg, err = setup.NewCycle(opt.Effective); err != nil {
		return nil, err
	}
	o := run.Options{Run: run.RunAlone, Before: []run.Role{shuffle.Role}, Command: opt.Command, Log: opt.Log}
	if opt.Stage != "" {
		o.Run = run.RunShared
	}
	if opt.Stage != "" && opt.Stage != Shuffle {
		o.Before = nil
	}
	if l.process, err = run.Open(ctx, run.Dir{Root: l.cfg.Root}, run.Loop, o); err != nil {
		return nil, err
	}
	if err := l.open(); err != nil {
		return nil, l.process.Close(err)
	}
	if opt.Stage != "" {
		l.err = l.single(l.process.Context(), opt.Stage)
	} else {
		l.err = l.cycles(l.process.Context())
	}
	l.summary.Net, l.summary.Elapsed = newestNet(l.dir), time.Since(began)
	return &l.summary, l.process.Close(l.err)
}

// open reads how far the run is.
func (l *loop) open() error {
	dir, info, err := train.Begin(l.training(l.cfg.Effective))
	if err != nil {
		return err
	}
	l.dir = dir
	for _, d := range []string{dir.Models(), dir.Candidates(), dir.Selfplay()} {
		if err := fsx.MkdirAll(fsx.OS, d); err != nil {
			return fmt.Errorf("make run directory: %w", err)
		}
	}
	// These two may have decided and learnt all there was when they were interrupted.
	if err := errors.Join(run.MendEvents(dir, run.Gatekeeper, filepath.Join(dir.Metrics, string(run.Gatekeeper)), l.Command),
		run.MendEvents(dir, run.Trainer(dir.Training), dir.Learning, l.Command)); err != nil {
		return fmt.Errorf("mend events: %w", err)
	}
	path := filepath.Join(dir.Root, run.CyclesName)
	emptied := fsx.IsFile(path)
	journal, entries, err := OpenJournal(dir.Root)
	if err != nil {
		return err
	}
	l.process.OnClose(journal.Close)
	// Who moves the file away wants cycles counted anew. A file that lost its lines would
	// play, train and count all of them a second time in silence.
	if done, err := fsx.Dirs(fsx.OS, dir.Checkpoints); err == nil && emptied && len(entries) == 0 && len(done) > 0 {
		return &fsx.CorruptError{Path: path, Reason: fmt.Sprintf("it is empty beside %s of the training%s", monitor.Count(len(done), "checkpoint"), journalForm.Remedy)}
	}
	l.journal, l.state = journal, NewState(entries)
	l.summary = Summary{State: l.state, cycles: l.state.Cycles, games: l.state.Games, single: l.Stage != ""}
	if l.works == nil {
		l.works = l.stages()
	}
	l.page.Set(func(p *Page) { p.Job = info.Job })
	if err := l.process.OpenEvents(run.Events{Job: info.Job, Metrics: filepath.Join(dir.Metrics, "cycle"), Append: true, Readers: l.Readers,
		Start: &monitor.Run{Command: l.Command, Version: l.Version, Seed: l.cfg.Seed}, End: l.endOf}); err != nil {
		return err
	}
	l.process.Bus().Go(256, alarms.New(l.process.Publish))
	l.process.Show(l.Progress)
	return l.process.Listen(run.Commands{
		Status: func() any { return l.page.Get() },
		Swap: func(context.Context, run.Swap) error {
			return errors.New("a cycle has no stages of its own: swap those of the trainer while it trains, or change the configuration file and send SIGHUP")
		},
	})
}

// endOf completes the last event: a single stage with nothing more to do is no failure.
func (l *loop) endOf(e *monitor.Run) {
	if stage, ok := errors.AsType[*StageError](l.err); ok && stage.Code != ExitOrder {
		e.Phase = monitor.RunDone
	}
	e.Message = cmp.Or(e.Message, l.summary.Reason)
}

// training are the options of a training start.
func (l *loop) training(e *config.Effective) train.Options {
	return train.Options{Training: setup.TrainingOf(e), Command: l.Command, Version: l.Version, Log: l.Log, Readers: l.Readers,
		Progress: l.Progress, Locked: true}
}

// cycles does one cycle after the other.
func (l *loop) cycles(ctx context.Context) error {
	if err := l.note(Entry{Stage: Whole, Event: Begin}); err != nil {
		return err
	}
	for {
		var err error
		if l.summary.Reason, err = Do(ctx, l); err != nil {
			return err
		}
		if l.summary.Reason != "" {
			l.Log.Info("the run is done", "reason", l.summary.Reason)
			return nil
		}
		if err := l.finish(); err != nil {
			return err
		}
	}
}

// finish ends a cycle and says what it came to.
func (l *loop) finish() error {
	if err := l.note(Entry{Stage: Whole, Event: End}); err != nil {
		return err
	}
	s := l.state
	l.Log.Info("cycle done", "cycle", s.Cycle-1, "games", s.Games, "net", newestNet(l.dir), "worked", s.Worked.Round(time.Second))
	return nil
}

// reload reads the configuration file again, where that was asked for. One with a
// fault changes nothing.
func (l *loop) reload() {
	select {
	case <-l.Reload:
	default:
		return
	}
	e, err := l.Effective.Reload()
	if err == nil {
		var cfg *setup.Cycle
		if cfg, err = setup.NewCycle(e); err == nil {
			diff := config.Compare(l.cfg.Config, cfg.Config)
			if err = diff.Err(); err == nil {
				_, err = setup.TrainingOf(cfg.Effective).Hold() // a net that does not grow so must not end the loop hours later
			}
			if err == nil {
				for _, c := range diff.Logged {
					l.Log.Info("configuration changed", "change", c.String())
				}
				l.Effective, l.cfg = e, cfg
			}
		}
	}
	if err != nil {
		l.Log.Error("the configuration was read again and is not used", "error", err)
	}
}

// Page is what a closed loop answers to status.
type Page struct {
	Job   string    `json:"job"`
	Cycle int64     `json:"cycle"`
	Stage Stage     `json:"stage"`
	Since time.Time `json:"since"`
	Games int64     `json:"games_goal,omitempty"` // self-play: that its process is to have
}

// Summary is what a closed loop says at its end.
type Summary struct {
	*State         // with what earlier starts did
	Reason  string // why it ended; "" = interrupted or failed
	Net     string // newest accepted one
	Elapsed time.Duration
	cycles  int64 // of those that earlier starts did
	games   int64
	single  bool   // one stage was asked for
	said    string // what became of it; "" = the error says it
}

// Write writes the report.
func (s *Summary) Write(w io.Writer) error {
	var b strings.Builder
	switch {
	case s.said != "":
		fmt.Fprintln(&b, s.said)
	case !s.single:
		fmt.Fprintf(&b, "%s done, %d of them by this start; %s, %d of them by this start; %s\nNet: %s\n", monitor.Count(s.Cycles, "cycle"), s.Cycles-s.cycles,
			monitor.Count(s.Games, "game"), s.Games-s.games, s.Elapsed.Round(time.Second), s.Net)
		for i, line := range statusOf(s.State).times() {
			fmt.Fprintf(&b, "%-5s %s\n", first(i, "Time:"), line)
		}
		if s.Reason != "" {
			fmt.Fprintf(&b, "Ended: %s\n", s.Reason)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
