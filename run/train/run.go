package train

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
	"github.com/chessbrain/chessbrain/trainer"
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
	opt    Options
	cfg    *config.Config // replaced by a swap of stages
	dir    run.Dir
	info   run.RunInfo
	log    *slog.Logger
	stages *setup.Stages
	desk   *setup.PluginDesk
	swaps  *setup.Swapper
	bounds *boundary // where stages are exchanged

	numSwaps int // of stages, by this process; the swapper's goroutine alone

	locks   []*fsx.Lock
	role    *fsx.Lock // one of them: whose owner file names the control socket
	bus     *monitor.Bus
	files   *monitor.Files
	journal *run.Journal
	control *run.Control

	trainer *trainer.Trainer
	heads   *headRows // of the trainer
	games   *replay.Split
	rows    Rows
	pace    Pace
	target  int64 // episodes asked for, 0 where the rows come from elsewhere
	nets    play.Nets
	outputs *play.Outputs // the store's, which closes them; nil = none
	store   *play.Store
	resign  *selfplay.ResignRule // of the games that begin; nil where others play
	stats   selfplay.Stats
	meter   *monitor.Meter
	began   time.Time

	state       State
	back        *backlog          // games on disk that are to enter first, until the feed is open
	seen        map[[16]byte]bool // games that entered before the checkpoint
	taken       run.Ordinals      // numbers of the run's games at the start
	initial     *nn.Net           // what the run began with
	resumed     bool
	firstStep   int64 // at the start of this process
	firstSample int64
	everySteps  int64         // between two checkpoints; 0 = they do not follow steps
	lastSaved   int64         // episodes at the newest checkpoint, -1 = none
	lastStep    int64         // steps at the newest checkpoint
	savedAt     time.Time     // of the newest checkpoint
	lastExport  string        // file of the net published last by this process
	saveFailed  bool          // the newest attempt at a checkpoint
	wantSave    chan struct{} // a checkpoint was asked for over the control socket
	stop        context.CancelFunc
	page        statusPage
}

// openRun makes or opens the run directory, takes its locks and restores what
// is there. The caller closes the run even where it returns an error.
func openRun(ctx context.Context, opt Options) (*training, error) {
	cfg := opt.Effective.Config
	r := &training{opt: opt, cfg: cfg, log: opt.Log, began: time.Now(), wantSave: make(chan struct{}, 1)}
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
	if playsGames(cfg) {
		var err error
		if r.nets.Inference, err = setup.OpenInference(cfg); err != nil {
			return r, err
		}
	}
	r.desk.Job = r.info.Job
	if playsGames(cfg) {
		var err error
		if r.outputs, err = play.OutputsOf(cfg, r.dir.Root, trainProcess, r.info.Job, r.log); err != nil {
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
		Exchange: func(ctx context.Context, x *setup.Exchange) error {
			return r.bounds.do(ctx, func() error { return r.exchange(ctx, x) })
		}}
	return nil
}

// exchange puts new stages to work, between two steps.
func (r *training) exchange(ctx context.Context, x *setup.Exchange) (err error) {
	if x.Uses.Sampler == setup.Opened {
		if x.Began, err = r.rows.Replace(ctx, x.Stages.Sampler); err != nil {
			return err
		}
	}
	x.Old = r.stages.Adopt(x.Stages, x.Uses)
	if x.Uses.Rescorers == setup.Opened && r.store != nil {
		r.store.SetRescorers(r.stages.Rescorers, r.swaps.Retire(x.Old.Host()))
		x.Old.Rescorers = nil // the store lets go of them
	}
	r.cfg = x.Cfg
	return nil
}

// netName is the name of the weights as they are now.
func (r *training) netName() string {
	return fmt.Sprintf("%s-%s-s%d-d%d", r.info.Job, r.dir.Training, r.trainer.NumSamples(), r.state.Rows)
}

// publishNet hands the newest weights to the producers.
func (r *training) publishNet() error {
	name := r.netName()
	if err := r.nets.Publish(name, r.trainer.Net(), uint64(r.trainer.NumSamples())); err != nil {
		return err
	}
	r.bus.Publish(&monitor.Net{Action: monitor.NetLoaded, NetID: name, Step: r.trainer.NumSteps(),
		Episode: r.state.Episodes, Samples: r.trainer.NumSamples()})
	r.page.set(func(p *Page) { p.Net = name })
	return nil
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
	if r.store != nil {
		r.store.LogFaults(r.log)
	} else {
		errs = append(errs, r.outputs.Close())
	}
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
	errs = append(errs, r.nets.Close())
	if r.journal != nil {
		errs = append(errs, r.journal.Close())
	}
	for _, l := range slices.Backward(r.locks) {
		errs = append(errs, l.Release())
	}
	return errors.Join(errs...)
}
