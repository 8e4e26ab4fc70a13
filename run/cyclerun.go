package run

import (
	"context"
	"errors"
	"slices"
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
