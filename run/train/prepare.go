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
	if err := r.takeLocks(ctx, run.Dir{Root: root}.Locks()); err != nil {
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
	if err := r.lockOutside(ctx); err != nil {
		return err
	}
	return r.writeStart()
}

// runKey is the manifest's entry that ties a checkpoint to its run, and runIDOf
// its value.
const runKey = "run"

func runIDOf(info run.RunInfo) string { return info.Created.UTC().Format(time.RFC3339Nano) }

// takeLocks takes the run for this process: self-play training holds the whole
// run, training from a directory shares it with the processes that play.
func (r *training) takeLocks(ctx context.Context, dir string) error {
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	if !r.opt.Locked {
		if err := r.lock(ctx, filepath.Join(dir, "run"), !playsGames(r.cfg)); err != nil {
			return err
		}
	}
	if err := r.lock(ctx, filepath.Join(dir, "trainer-"+r.cfg.GetTraining().GetTrainingName()), false); err != nil {
		return err
	}
	r.role = r.locks[len(r.locks)-1]
	if r.role.HeartbeatOnly() {
		r.log.Warn("no flock on this file system: the lock's heartbeat decides", "stale_after", "60s")
	}
	return nil
}

// lock takes one more lock of this run, and waits for it as long as the options
// say.
func (r *training) lock(ctx context.Context, path string, shared bool) error {
	l, err := fsx.AcquireWithin(ctx, path, fsx.LockOptions{Shared: shared, Command: r.opt.Command}, r.opt.LockWait)
	if err == nil {
		r.locks = append(r.locks, l)
	}
	return err
}

// lockOutside locks checkpoint and metrics directories that do not lie in the
// run: another run of the same job id could write there too.
func (r *training) lockOutside(ctx context.Context) error {
	for _, d := range []struct{ set, dir string }{
		{r.cfg.GetTraining().GetCheckpoint().GetDir(), r.dir.Checkpoints}, {r.cfg.GetMetrics().GetDir(), r.dir.Metrics},
	} {
		if d.set == "" {
			continue
		}
		if err := r.lock(ctx, filepath.Join(d.dir, ".trainer"), false); err != nil {
			return err
		}
	}
	return nil
}

// lockLost says whether another process took one of the locks over, thinking
// this one dead (only where there is no flock): it must write nothing more.
func (r *training) lockLost() error {
	for _, l := range r.locks {
		select {
		case <-l.Lost():
			return fmt.Errorf("another process took over %s while this one was suspended; nothing more is written", r.dir.Root)
		default:
		}
	}
	return nil
}

// writeStart writes the effective configuration, its history and run.json.
func (r *training) writeStart() error {
	text, before := config.Format(r.cfg), r.info
	r.info.ConfigHash = config.Hash(r.cfg)
	r.info.Program, r.info.Go = r.opt.Version, runtime.Version()
	r.info.Arithmetic = setup.ArithmeticOf(r.cfg, true, playsGames(r.cfg))
	r.info.Arch = r.initial.Arch.String()
	if r.opt.Locked && before.Starts > 0 && r.info == before {
		return nil
	}
	r.info.Starts++
	name := fmt.Sprintf("%04d_%s.textproto", r.info.Starts, time.Now().UTC().Format("20060102T150405"))
	if err := r.writeConfig(name, text); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r.info, "", "  ")
	if err != nil {
		return fmt.Errorf("encode run file: %w", err)
	}
	if err := fsx.WriteFile(fsx.OS, r.dir.RunFile(), append(data, '\n')); err != nil {
		return fmt.Errorf("write run file: %w", err)
	}
	return nil
}

// writeConfig writes an effective configuration, and a copy with that name into
// the history.
func (r *training) writeConfig(name string, text []byte) error {
	for _, path := range []string{filepath.Join(r.dir.History(), name), r.dir.ConfigFile()} {
		if err := fsx.WriteFile(fsx.OS, path, text); err != nil {
			return fmt.Errorf("write configuration: %w", err)
		}
	}
	return nil
}

// writeSwap writes the configuration that a swap of stages made, beside that of the
// start. One swap at a time.
func (r *training) writeSwap(c *config.Config) error {
	r.numSwaps++
	return r.writeConfig(fmt.Sprintf("%04d_%s_swap%03d.textproto", r.info.Starts, time.Now().UTC().Format("20060102T150405"), r.numSwaps), config.Format(c))
}
