package train

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Options start a training run.
type Options struct {
	Effective *config.Effective
	Command   string // for the lock and the run event
	Version   string // of the program
	Log       *slog.Logger
	Readers   []monitor.Sink // attached to the run's events, such as Prometheus
	Progress  monitor.Sink   // may block: the terminal; nil = none

	// Reload asks, by each value, to read the configuration file again and to apply
	// its sections plugins and export; nil = never.
	Reload <-chan os.Signal

	// Commands is told, once the run takes them, what can be asked of it; nil = nobody
	// in this process asks.
	Commands func(Live)

	// LockWait is how long to wait for another process that holds the run or this
	// training; 0 = not at all.
	LockWait time.Duration

	// Locked says that the caller holds the run's lock, for a stage of a cycle. Such a
	// start counts, and is written into the history, only if the configuration changed.
	Locked bool

	storeFS    fsx.FS // of the games, for tests; nil = the real one
	chunkBytes int64  // of a chunk of games, for tests; 0 = the usual size

	// pause waits between two looks for newer rows, for tests; nil = some seconds.
	pause func(context.Context) error
}

// training is a training run in progress. It is used by one goroutine, but for the
// parts that say otherwise.
type training struct {
	*core
	out      *publisher
	saver    *checkpointer
	locks    *roleLocks
	players  *players
	reporter *reporter
	desk     *setup.PluginDesk
	swaps    *setup.Swapper
	bounds   *boundary // where stages are exchanged

	files   *monitor.Files
	control *run.Control

	ledger *ledger // of the games that enter
	pace   Pace
	began  time.Time

	resumed bool
	stop    context.CancelFunc
}

// newTraining returns a training of which nothing is open yet.
func newTraining(opt Options) *training {
	r := &training{core: &core{opt: opt, cfg: opt.Effective.Config, log: opt.Log}, began: time.Now()}
	r.out = &publisher{core: r.core}
	r.locks = &roleLocks{core: r.core}
	r.players = &players{core: r.core}
	r.reporter = &reporter{core: r.core, played: &r.players.stats}
	r.saver = &checkpointer{core: r.core, out: r.out, lockLost: r.locks.lost, saved: r.players.saved, asked: make(chan struct{}, 1)}
	return r
}

// openRun makes or opens the run directory, takes its locks and restores what
// is there. The caller closes the run even where it returns an error.
func openRun(ctx context.Context, opt Options) (*training, error) {
	r := newTraining(opt)
	if err := setup.CheckConfig(opt.Effective); err != nil {
		return r, err
	}
	if err := setup.CheckTrains(opt.Effective); err != nil {
		return r, err
	}
	r.announceDevices()
	if err := r.openStages(ctx); err != nil {
		return r, err
	}
	if err := r.prepareDir(ctx); err != nil {
		return r, err
	}
	r.desk.Job = r.info.Job
	if playsGames(opt.Effective.Config) {
		if err := r.players.prepare(); err != nil {
			return r, err
		}
	}
	return r, r.restore(ctx)
}

// openStages opens the stages that this run uses and what exchanges them.
func (r *training) openStages(ctx context.Context) (err error) {
	r.desk = &setup.PluginDesk{Root: r.cfg.GetRunDir(), Process: trainProcess, Log: r.log}
	u := setup.TrainUses(r.cfg)
	if r.stages, err = setup.OpenUsed(ctx, r.opt.Effective, u, r.desk.Options(r.cfg.GetPlugins())); err != nil {
		return err
	}
	r.bounds = newBoundary()
	r.swaps = &setup.Swapper{Uses: u, Stages: r.stages, Desk: r.desk, Log: r.log, Started: r.opt.Effective, Cfg: config.Clone(r.cfg), Save: r.writeSwap,
		Exchange: func(ctx context.Context, c *config.Config, fresh *setup.Stages) (old *setup.Stages, began string, err error) {
			err = r.bounds.do(ctx, func() (err error) { old, began, err = r.exchange(ctx, c, fresh); return err })
			return old, began, err
		}}
	return nil
}

// exchange puts new stages to work, between two steps.
func (r *training) exchange(ctx context.Context, c *config.Config, fresh *setup.Stages) (old *setup.Stages, began string, err error) {
	if games, ok := r.rows.(*gameRows); ok && fresh.Sampler != nil {
		if began, err = games.replace(ctx, fresh.Sampler); err != nil {
			return nil, "", err
		}
	}
	old = r.stages.Adopt(fresh)
	if r.players.store != nil {
		if retire := r.swaps.Retire(old); retire != nil {
			r.players.store.SetRescorers(r.stages.Rescorers, retire)
		}
	}
	r.cfg = c
	return old, began, nil
}

// close ends everything that is open, in the reverse order of opening.
func (r *training) close() error {
	var errs []error
	if r.control != nil {
		errs = append(errs, r.control.Close())
	}
	if r.pace != nil {
		errs = append(errs, r.pace.Close())
	}
	errs = append(errs, r.players.close())
	if r.rows != nil {
		errs = append(errs, r.rows.Close())
	}
	errs = append(errs, r.stages.Close()) // after all that use them, before the events that tell of it end
	if r.bus != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := r.bus.Close(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			r.log.Warn("a display does not follow", "error", err)
		} else {
			errs = append(errs, err)
		}
	}
	if r.files != nil {
		errs = append(errs, r.files.Close())
	}
	if r.trainer != nil {
		errs = append(errs, r.trainer.Close())
	}
	errs = append(errs, r.players.nets.Close())
	if r.ledger != nil {
		errs = append(errs, r.ledger.close())
	}
	errs = append(errs, r.locks.release())
	return errors.Join(errs...)
}
