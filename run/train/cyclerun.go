package train

import (
	"context"
	"errors"
	"slices"

	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Begin makes the run directory of a configuration whose stages the caller does
// one after the other, or holds the configuration against the run that is there, as
// Train would. The caller holds the run's lock: opt.Locked.
func Begin(opt Options) (dir run.Dir, info run.RunInfo, err error) {
	r := &training{opt: opt, cfg: opt.Effective.Config, log: opt.Log}
	err = errors.Join(setup.CheckConfig(opt.Effective), setup.CheckTrains(opt.Effective))
	if err == nil {
		err = r.prepareDir(context.Background())
	}
	for _, l := range slices.Backward(r.locks) {
		err = errors.Join(err, l.Release())
	}
	return r.dir, r.info, err
}
