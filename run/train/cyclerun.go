package train

import (
	"context"
	"errors"

	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Begin makes the run directory of a configuration whose stages the caller does
// one after the other, or holds the configuration against the run that is there, as
// Train would. The caller holds the run's lock: opt.Locked.
func Begin(opt Options) (dir run.Dir, info run.RunInfo, err error) {
	r := newTraining(opt)
	err = errors.Join(setup.CheckConfig(opt.Effective), setup.CheckTrains(opt.Effective))
	if err == nil {
		err = r.prepareDir(context.Background())
	}
	return r.dir, r.info, errors.Join(err, r.locks.release())
}
