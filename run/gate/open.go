package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// role is the name of the gatekeeper's lock and of its part of the metrics.
const role = "gatekeeper"

// open takes the locks, makes the directories and begins the events.
func (g *gatekeeper) open(ctx context.Context) error {
	if err := Check(g.opt.Effective); err != nil {
		return err
	}
	dir, info, err := setup.Layout(g.cfg)
	if err != nil {
		return err
	}
	g.gate = g.cfg.GetLoop().GetGatekeeper()
	g.rule = ruleOf(g.gate)
	g.root, g.job, g.seed, g.dirs = dir.Root, info.Job, info.Seed, dirsOf(dir.Root, g.opt.Dirs)
	g.page.Set(func(p *Page) { p.Job, p.State = g.job, "waiting" })
	if err := g.takeLocks(ctx, dir.Locks()); err != nil {
		return err
	}
	for _, d := range []string{g.dirs.Test, g.dirs.Accepted, g.dirs.Rejected, g.dirs.SelfPlay, g.dirs.Matches} {
		if err := fsx.MkdirAll(fsx.OS, d); err != nil {
			return fmt.Errorf("make the gatekeeper's directories: %w", err)
		}
	}
	if g.opt.Dirs.Test != "" { // another run's gatekeeper may be pointed at it too
		if err := g.lock(ctx, filepath.Join(g.dirs.Test, "."+role), false); err != nil {
			return err
		}
	}
	return g.openEvents(filepath.Join(dir.Metrics, role))
}

// Check says what cannot work of a configuration.
func Check(e *config.Effective) error {
	k := e.Config.GetLoop().GetGatekeeper()
	if n := k.GetGames(); n < 2 || n%2 != 0 {
		return e.Errorf("loop.gatekeeper.games", "give an even number, at least 2", "games come in pairs of one opening")
	}
	if s := ruleOf(k).sprt; s != nil {
		if err := s.Validate(); err != nil {
			return e.Errorf("loop.gatekeeper.sprt", "correct the hypotheses", "%v", err)
		}
	}
	if k.GetVisits() < 1 {
		return e.Errorf("loop.gatekeeper.visits", "give at least 1", "a search needs visits")
	}
	if k.GetOpeningPlies() >= k.GetMaxPlies() {
		return e.Errorf("loop.gatekeeper.max_plies", "raise it above loop.gatekeeper.opening_plies", "every game would be a draw")
	}
	return nil
}

// takeLocks shares the run and takes the gatekeeper's role.
func (g *gatekeeper) takeLocks(ctx context.Context, dir string) error {
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	if !g.opt.Locked {
		if err := g.lock(ctx, filepath.Join(dir, "run"), true); err != nil {
			return err
		}
	}
	if err := g.lock(ctx, filepath.Join(dir, role), false); err != nil {
		return err
	}
	g.role = g.locks[len(g.locks)-1]
	if g.role.HeartbeatOnly() {
		g.log.Warn("no flock on this file system: the lock's heartbeat decides", "stale_after", "60s")
	}
	return nil
}

// lock takes a lock, and waits for it as long as the options say.
func (g *gatekeeper) lock(ctx context.Context, path string, shared bool) error {
	l, err := fsx.AcquireWithin(ctx, path, fsx.LockOptions{Shared: shared, Command: g.opt.Command}, g.opt.LockWait)
	if err == nil {
		g.locks = append(g.locks, l)
	}
	return err
}

// locksLost says whether another gatekeeper took over while this one was
// suspended (only where there is no flock): it must move nothing more.
func (g *gatekeeper) locksLost() error {
	for _, l := range g.locks {
		select {
		case <-l.Lost():
			return fmt.Errorf("another process took over %s while this one was suspended; nothing more is written", g.root)
		default:
		}
	}
	return nil
}

// openControl opens the control socket: status, stop and subscribe.
func (g *gatekeeper) openControl(stop func()) error {
	var err error
	g.control, err = run.ListenRole(filepath.Join(g.root, "locks"), role, g.role, run.Commands{
		Status: func() any { return g.page.Get() },
		Stop:   stop,
		Subscribe: func() (<-chan monitor.Event, func()) {
			s := g.bus.Subscribe(256)
			return s.Events(), s.Close
		},
		Swap: func(context.Context, run.Swap) error { return errors.New("a gatekeeper has no stages") },
	})
	return err
}

// openEvents opens the gatekeeper's own metrics.jsonl, which goes on through all
// its starts: in a cycle there is one for each net.
func (g *gatekeeper) openEvents(dir string) error {
	state, err := endOfMetrics(filepath.Join(dir, monitor.MetricsName))
	if err != nil {
		return err
	}
	if g.files, _, err = monitor.OpenFiles(monitor.FilesOptions{Dir: dir, Job: g.job}, state); err != nil {
		return err
	}
	g.bus = monitor.NewBus(monitor.BusOptions{Job: g.job, Seq: g.files.Seq()})
	g.bus.Attach(g.files)
	for _, r := range g.opt.Readers {
		g.bus.Attach(r)
	}
	device, precision := setup.DescribePlayers(g.cfg)
	g.bus.Publish(&monitor.Run{Phase: monitor.RunStart, Command: g.opt.Command, Version: g.opt.Version, Seed: g.seed,
		Kernels: kernel.ActiveTier().String(), ProducerDevice: device, ProducerPrecision: precision})
	return nil
}

// endOfMetrics returns where the whole lines of a metrics.jsonl end; a file that
// cannot be read to its end is set aside by the zero state.
func endOfMetrics(path string) (monitor.FilesState, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return monitor.FilesState{}, nil
	}
	if err != nil {
		return monitor.FilesState{}, fmt.Errorf("open metrics: %w", err)
	}
	defer f.Close()
	info, err := monitor.Replay(f, func(monitor.Event) error { return nil })
	if err != nil {
		return monitor.FilesState{}, nil
	}
	return monitor.FilesState{MetricsOffset: info.Bytes, Seq: info.Seq}, nil
}

// close ends everything that is open; err is what the gatekeeper came to.
func (g *gatekeeper) close(err error) error {
	var errs []error
	if g.control != nil {
		errs = append(errs, g.control.Close())
	}
	if g.bus != nil {
		end := &monitor.Run{Phase: monitor.RunDone}
		switch {
		case errors.Is(err, run.ErrInterrupted):
			end.Phase = monitor.RunStopped
		case err != nil:
			end.Phase, end.Message = monitor.RunFailed, err.Error()
		}
		g.bus.Publish(end)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		errs = append(errs, g.bus.Close(ctx))
		cancel()
	}
	if g.files != nil {
		errs = append(errs, g.files.Close())
	}
	for _, l := range slices.Backward(g.locks) {
		errs = append(errs, l.Release())
	}
	return errors.Join(errs...)
}
