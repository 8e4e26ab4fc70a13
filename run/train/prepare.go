package train

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// prepareDir takes the locks, checks the configuration against the run that
// lies there, and writes down how the run was started.
func (r *training) prepareDir(ctx context.Context) error {
	root := r.cfg.GetRunDir()
	if err := fsx.CheckSpace(fsx.OS, fsx.NearestDir(root), 0); err != nil {
		return err
	}
	if err := r.locks.take(ctx, run.Dir{Root: root}.Locks()); err != nil {
		return err
	}
	there, err := holdRun(r.opt.Effective)
	if there != nil {
		for _, c := range there.diff.Logged {
			r.log.Info("configuration changed", "change", c.String())
		}
	}
	if err != nil {
		return err
	}
	r.info, r.dir, r.initial = there.info, there.dir, there.initial
	for _, d := range []string{r.dir.History(), r.dir.Logs(), r.dir.Checkpoints, r.dir.Metrics} {
		if err := fsx.MkdirAll(fsx.OS, d); err != nil {
			return fmt.Errorf("make run directory: %w", err)
		}
	}
	if err := r.locks.outside(ctx); err != nil {
		return err
	}
	return r.writeStart()
}

// runKey is the manifest's entry that ties a checkpoint to its run, and runIDOf
// its value.
const runKey = "run"

func runIDOf(info run.RunInfo) string { return info.Created.UTC().Format(time.RFC3339Nano) }

// writeStart writes the effective configuration, its history and run.json.
func (c *core) writeStart() error {
	text, before := config.Format(c.cfg), c.info
	c.info.ConfigHash = config.Hash(c.cfg)
	c.info.Program, c.info.Go = c.opt.Version, runtime.Version()
	c.info.Arithmetic = setup.ArithmeticOf(c.cfg, true, playsGames(c.cfg))
	c.info.Arch = c.initial.Arch.String()
	if c.opt.Locked && before.Starts > 0 && c.info == before {
		return nil
	}
	c.info.Starts++
	name := fmt.Sprintf("%04d_%s.textproto", c.info.Starts, time.Now().UTC().Format("20060102T150405"))
	if err := c.writeConfig(name, text); err != nil {
		return err
	}
	data, err := json.MarshalIndent(c.info, "", "  ")
	if err != nil {
		return fmt.Errorf("encode run file: %w", err)
	}
	if err := fsx.WriteFile(fsx.OS, c.dir.RunFile(), append(data, '\n')); err != nil {
		return fmt.Errorf("write run file: %w", err)
	}
	return nil
}

// writeConfig writes an effective configuration, and a copy with that name into
// the history.
func (c *core) writeConfig(name string, text []byte) error {
	for _, path := range []string{filepath.Join(c.dir.History(), name), c.dir.ConfigFile()} {
		if err := fsx.WriteFile(fsx.OS, path, text); err != nil {
			return fmt.Errorf("write configuration: %w", err)
		}
	}
	return nil
}

// writeSwap writes the configuration that a swap of stages made, beside that of the
// start. One swap at a time.
func (c *core) writeSwap(now *config.Config) error {
	c.numSwaps++
	return c.writeConfig(fmt.Sprintf("%04d_%s_swap%03d.textproto", c.info.Starts, time.Now().UTC().Format("20060102T150405"), c.numSwaps), config.Format(now))
}
