package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// open takes the gatekeeper's role and makes the directories. Its metrics.jsonl
// goes on through all its starts: in a cycle there is one for each net.
func (g *gatekeeper) open(ctx context.Context) (err error) {
	if g.want, err = setup.GatekeeperOf(g.opt.Effective); err != nil {
		return err
	}
	dir, info, err := setup.Layout(g.opt.Effective.Config)
	if err != nil {
		return err
	}
	g.rule = rule{g.want.Share, g.want.SPRT}
	g.root, g.seed, g.dirs = dir.Root, info.Seed, dirsOf(dir.Root, g.opt.Dirs)
	g.page.Set(func(p *Page) { p.Job, p.State = info.Job, "waiting" })
	device, precision := setup.DescribePlayers(g.opt.Effective.Config)
	o := run.Options{Run: run.RunShared, Locked: g.opt.Locked, LockWait: g.opt.LockWait, Command: g.opt.Command, Log: g.log,
		Events: &run.Events{Job: info.Job, Metrics: filepath.Join(dir.Metrics, string(run.Gatekeeper)), Append: true, Readers: g.opt.Readers,
			Start: &monitor.Run{Command: g.opt.Command, Version: g.opt.Version, Seed: g.seed,
				Kernels: kernel.ActiveTier().String(), ProducerDevice: device, ProducerPrecision: precision}},
		Commands: &run.Commands{Status: func() any { return g.page.Get() }}}
	if g.process, err = run.Open(ctx, dir, run.Gatekeeper, o); err != nil {
		return err
	}
	g.process.Show(g.opt.Progress)
	if err := g.makeDirs(); err != nil {
		return g.process.Close(err)
	}
	return nil
}

// makeDirs makes the gatekeeper's directories. Another run's gatekeeper may be
// pointed at the same candidates: of such a directory it takes the lock too.
func (g *gatekeeper) makeDirs() error {
	for _, d := range []string{g.dirs.Test, g.dirs.Accepted, g.dirs.Rejected, g.dirs.SelfPlay, g.dirs.PGN} {
		if err := fsx.MkdirAll(fsx.OS, d); err != nil {
			return fmt.Errorf("make the gatekeeper's directories: %w", err)
		}
	}
	if g.opt.Dirs.Test == "" {
		return nil
	}
	return g.process.Lock(filepath.Join(g.dirs.Test, "."+string(run.Gatekeeper)), false)
}

// DryRun checks a configuration and says what a gatekeeper would do now. It
// creates nothing.
func DryRun(e *setup.Effective, dirs Dirs, w io.Writer) error {
	k, err := setup.GatekeeperOf(e)
	if err != nil {
		return err
	}
	dir, info, err := setup.Layout(e.Config)
	if err != nil {
		return err
	}
	dirs = dirsOf(dir.Root, dirs)
	candidates, err := run.ListNets(dir, dirs.Test)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	accepted, err := setup.NetsBelow(dir, dirs.Accepted)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	baseline := Label(RandomNet) + fmt.Sprintf(" (seed %d)", info.Seed)
	if len(accepted) > 0 {
		baseline = accepted[0].Path
	}
	fmt.Fprintf(w, "%s\ngatekeeper of %s (dry run: nothing is created)\n", e.Changed(), dir.Root)
	fmt.Fprintf(w, "nets to test: %d in %s\n", len(candidates), dirs.Test)
	for i := range candidates {
		note := ""
		if newer := newerThan(&candidates[i], accepted); newer != "" && !k.TestOlder {
			note = ": older than " + newer + ", which is accepted, would be rejected"
		}
		fmt.Fprintf(w, "  %s%s\n", candidates[i].Name, note)
	}
	fmt.Fprintf(w, "baseline: %s\n", baseline)
	fmt.Fprintf(w, "match: at most %d games of %d visits with %d workers, decided by %s\n",
		k.Games, k.Search.Search.Simulations, k.Workers, rule{k.Share, k.SPRT})
	_, err = fmt.Fprintf(w, "accepted -> %s, rejected -> %s, games -> %s\n", dirs.Accepted, dirs.Rejected, dirs.PGN)
	return err
}
