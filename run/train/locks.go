package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
)

// roleLocks are the locks that make this process the trainer of its run.
type roleLocks struct {
	*core
	held []*fsx.Lock
	role *fsx.Lock // one of them: whose owner file names the control socket
}

// take takes the run for this process: self-play training holds the whole
// run, training from a directory shares it with the processes that play.
func (l *roleLocks) take(ctx context.Context, dir string) error {
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	if !l.opt.Locked {
		if err := l.lock(ctx, filepath.Join(dir, "run"), !playsGames(l.cfg)); err != nil {
			return err
		}
	}
	if err := l.lock(ctx, filepath.Join(dir, string(run.Trainer(l.cfg.GetTraining().GetTrainingName()))), false); err != nil {
		return err
	}
	l.role = l.held[len(l.held)-1]
	if l.role.HeartbeatOnly() {
		l.log.Warn("no flock on this file system: the lock's heartbeat decides", "stale_after", "60s")
	}
	return nil
}

// lock takes one more lock of this run, and waits for it as long as the options
// say.
func (l *roleLocks) lock(ctx context.Context, path string, shared bool) error {
	one, err := fsx.AcquireWithin(ctx, path, fsx.LockOptions{Shared: shared, Command: l.opt.Command}, l.opt.LockWait)
	if err == nil {
		l.held = append(l.held, one)
	}
	return err
}

// outside locks checkpoint and metrics directories that do not lie in the
// run: another run of the same job id could write there too.
func (l *roleLocks) outside(ctx context.Context) error {
	for _, d := range []struct{ set, dir string }{
		{l.cfg.GetTraining().GetCheckpoint().GetDir(), l.dir.Checkpoints}, {l.cfg.GetMetrics().GetDir(), l.dir.Metrics},
	} {
		if d.set == "" {
			continue
		}
		if err := l.lock(ctx, filepath.Join(d.dir, ".trainer"), false); err != nil {
			return err
		}
	}
	return nil
}

// lost says whether another process took one of the locks over, thinking
// this one dead (only where there is no flock): it must write nothing more.
func (l *roleLocks) lost() error {
	for _, one := range l.held {
		select {
		case <-one.Lost():
			return fmt.Errorf("another process took over %s while this one was suspended; nothing more is written", l.dir.Root)
		default:
		}
	}
	return nil
}

// release lets go of all, the latest first.
func (l *roleLocks) release() error {
	var errs []error
	for _, one := range slices.Backward(l.held) {
		errs = append(errs, one.Release())
	}
	return errors.Join(errs...)
}
