package cycle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

// takeLocks takes the whole run; the shuffler's role, which chessbrain shuffle takes
// without the run; and last, for listen, the role of who keeps the journal of
// cycles. A single stage shares the run: other players may work beside it.
func (r *runner) takeLocks() error {
	roles := []string{"run", shuffle.Role, loopRole}
	if r.opt.Stage != "" && r.opt.Stage != Shuffle {
		roles = []string{"run", loopRole}
	}
	dir := r.path(locksDir)
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	for _, role := range roles {
		shared := role == "run" && r.opt.Stage != ""
		l, err := fsx.Acquire(filepath.Join(dir, role), fsx.LockOptions{Shared: shared, Command: r.opt.Command})
		if err != nil {
			return err
		}
		r.locks = append(r.locks, l)
	}
	return nil
}

// lockLost says whether another process took one of the locks over, thinking this
// one dead (only where there is no flock): it must write nothing more.
func (r *runner) lockLost() error {
	for _, l := range r.locks {
		select {
		case <-l.Lost():
			return fmt.Errorf("another process took over %s while this one was suspended; nothing more is written", r.root)
		default:
		}
	}
	return nil
}

// release gives locks up, the newest first.
func release(locks []*fsx.Lock) error {
	var errs []error
	for _, l := range slices.Backward(locks) {
		errs = append(errs, l.Release())
	}
	return errors.Join(errs...)
}

// removeLock removes the file of a lock that nobody takes again.
func removeLock(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove a lock that is no longer needed: %w", err)
	}
	return nil
}
