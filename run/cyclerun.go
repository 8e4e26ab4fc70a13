package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Begin makes the run directory of a configuration whose stages the caller does
// one after the other, or holds the configuration against the run that is there, as
// Train would. The caller holds the run's lock: opt.Locked.
func Begin(opt Options) (dir Dir, info RunInfo, err error) {
	r := &run{opt: opt, cfg: opt.Effective.Config, log: opt.Log}
	err = errors.Join(CheckConfig(opt.Effective), checkTrains(opt.Effective))
	if err == nil {
		err = r.prepareDir(context.Background())
	}
	for _, l := range slices.Backward(r.locks) {
		err = errors.Join(err, l.Release())
	}
	return r.dir, r.info, err
}

// NewestModel returns the net file below dir that a playing process takes: the one
// that was written last, of equals the last by name; "" where there is none.
func NewestModel(dir string) (path string, written time.Time, err error) {
	return (&modelFiles{dir: dir}).newest()
}

// ListenRole opens the control socket of a process that holds the given role's lock
// in dir, and names it in the lock's owner file.
func ListenRole(dir, name string, role *fsx.Lock, commands Commands) (*Control, error) {
	c, err := ListenControl(dir, name, commands)
	if err != nil {
		return nil, err
	}
	if err := c.nameIn(role); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
