package gate

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// open takes the gatekeeper's role and makes the directories. Its metrics.jsonl
// goes on through all its starts: in a cycle there is one for each net.
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
	g.root, g.seed, g.dirs = dir.Root, info.Seed, dirsOf(dir.Root, g.opt.Dirs)
	g.page.Set(func(p *Page) { p.Job, p.State = info.Job, "waiting" })
	device, precision := setup.DescribePlayers(g.cfg)
	o := run.Options{Run: run.RunShared, LockWait: g.opt.LockWait, Command: g.opt.Command, Log: g.log,
		Events: &run.Events{Job: info.Job, Metrics: filepath.Join(dir.Metrics, string(run.Gatekeeper)), Append: true, Readers: g.opt.Readers,
			Start: &monitor.Run{Command: g.opt.Command, Version: g.opt.Version, Seed: g.seed,
				Kernels: kernel.ActiveTier().String(), ProducerDevice: device, ProducerPrecision: precision}},
		Commands: &run.Commands{Status: func() any { return g.page.Get() }}}
	if g.opt.Locked {
		o.Run = run.RunNotHeld
	}
	if g.process, err = run.Open(ctx, dir, run.Gatekeeper, o); err != nil {
		return err
	}
	if err := g.makeDirs(); err != nil {
		return g.process.Close(err)
	}
	return nil
}

// makeDirs makes the gatekeeper's directories. Another run's gatekeeper may be
// pointed at the same candidates: of such a directory it takes the lock too.
func (g *gatekeeper) makeDirs() error {
	for _, d := range []string{g.dirs.Test, g.dirs.Accepted, g.dirs.Rejected, g.dirs.SelfPlay, g.dirs.Matches} {
		if err := fsx.MkdirAll(fsx.OS, d); err != nil {
			return fmt.Errorf("make the gatekeeper's directories: %w", err)
		}
	}
	if g.opt.Dirs.Test == "" {
		return nil
	}
	return g.process.Lock(filepath.Join(g.dirs.Test, "."+string(run.Gatekeeper)), false)
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
