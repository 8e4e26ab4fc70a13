package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Options start a training run.
type Options struct {
	Training *setup.Training
	Command  string // for the locks and the run event
	Version  string // of the program
	Log      *slog.Logger
	Readers  []monitor.Sink // attached to the run's events, such as Prometheus
	Progress monitor.Sink   // may block: the terminal; nil = none

	// Reload asks, by each value, to read the configuration file again and to apply
	// its sections plugins and export; nil = never.
	Reload <-chan os.Signal

	// Commands is told, once the run takes them, what can be asked of it; nil = nobody
	// in this process asks.
	Commands func(Live)

	// Beside brings games of players elsewhere into the run's directory while the training
	// holds the run; nil = none come. Where the run plays, too, theirs enter like its own.
	Beside func(context.Context) error

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

// core is what every part of a training knows: how it was started, where it lies, how
// far it is, and whom it tells.
type core struct {
	opt     Options
	cfg     setup.Training // its export changes with a swap of stages
	dir     run.Dir
	info    run.RunInfo
	noted   bool // this start stands in run.json
	log     *slog.Logger
	process *run.Process // nil before prepareDir
	began   time.Time
	stages  *setup.Stages
	trainer *trainer.Trainer
	rows    Rows
	pace    Pace
	ledger  *ledger // of the games that enter
	state   State
	savedAt time.Time // when the newest checkpoint was written
	page    statusPage
	initial *nn.Net // what the run began with
	arch    nn.Arch // of the newest checkpoint when this process began
	grown   grown
}

// netName is the name of the weights as they are now.
func (c *core) netName() string {
	return fmt.Sprintf("%s-%s-s%d-d%d", c.info.Job, c.dir.Training, c.trainer.NumSamples(), c.state.Rows)
}

// metadata goes into net files.
func (c *core) metadata(weights string) map[string]string {
	return map[string]string{
		"net": c.netName(), "weights": weights, "job": c.info.Job, "step": strconv.FormatInt(c.trainer.NumSteps(), 10),
		"samples": strconv.FormatInt(c.trainer.NumSamples(), 10), "rows": strconv.FormatInt(c.state.Rows, 10),
		"program": "chessbrain " + c.opt.Version, setup.MetaSearch: c.cfg.Search(),
	}
}

// netFiles are the weights as trained and the averaged ones, where there are any.
func (c *core) netFiles(swa *nn.Net) []checkpoint.File {
	file := func(name, weights string, net *nn.Net) checkpoint.File {
		return checkpoint.File{Name: name, Write: func(w io.Writer) error { return nn.WriteSafetensors(w, net, c.metadata(weights)) }}
	}
	files := []checkpoint.File{file(setup.NetFile, "raw", c.trainer.Net())}
	if swa != nil {
		files = append(files, file(setup.AverageFile, "swa", swa))
	}
	return files
}

// tellNet tells what became of a net, at a path or "".
func (c *core) tellNet(action, name, path string) {
	c.process.Publish(&monitor.Net{Action: action, NetID: name, Path: path,
		Step: c.trainer.NumSteps(), Episode: c.state.Episodes, Samples: c.trainer.NumSamples()})
}

// alarm reports something that a person should look at.
func (c *core) alarm(code, message, remedy string) {
	c.process.Publish(&monitor.Alarm{Code: code, Severity: "error", Message: message, Remedy: remedy,
		Step: c.trainer.NumSteps(), Episode: c.state.Episodes})
}

// training is a training run in progress. It is used by one goroutine, but for the
// parts that say otherwise.
type training struct {
	*core
	out      *publisher
	saver    *checkpointer
	players  *players
	reporter *reporter
	plugins  *setup.PluginMonitor
	swaps    *setup.Swapper
	bounds   *boundary // where stages are exchanged
}

// newTraining returns a training of which nothing is open yet.
func newTraining(opt Options) *training {
	if opt.pause == nil {
		opt.pause = func(ctx context.Context) error { return run.Sleep(ctx, pacePoll) }
	}
	r := &training{core: &core{opt: opt, cfg: *opt.Training, log: opt.Log, began: time.Now()}}
	r.out = &publisher{core: r.core}
	r.players = &players{core: r.core}
	r.reporter = &reporter{core: r.core, played: &r.players.stats, out: r.out}
	r.saver = &checkpointer{core: r.core, out: r.out, saved: r.players.saved}
	return r
}

// open makes or opens the run directory, takes its locks and restores what is there.
// The caller closes the training even after an error.
func (r *training) open(ctx context.Context) error {
	if err := r.cfg.Check(); err != nil {
		return err
	}
	if err := r.reporter.openMeasures(ctx); err != nil {
		return err
	}
	r.announceDevices()
	if err := r.openStages(ctx); err != nil {
		return err
	}
	if err := r.prepareDir(ctx); err != nil {
		return err
	}
	r.plugins.Job = r.info.Job
	if r.cfg.Source == setup.OwnGames {
		if err := r.players.prepare(); err != nil {
			return err
		}
	}
	if err := r.restore(r.process.Context()); err != nil {
		return err
	}
	return r.noteStart(ctx)
}

// openStages opens the stages that this run uses and what exchanges them.
func (r *training) openStages(ctx context.Context) (err error) {
	r.plugins = &setup.PluginMonitor{Root: r.cfg.Root, Process: trainProcess, Log: r.log}
	if r.stages, r.swaps, err = r.cfg.OpenStages(ctx, r.plugins); err != nil {
		return err
	}
	r.bounds = newBoundary()
	swaps := 0                               // by this process; one at a time
	r.swaps.Save = func(text []byte) error { // beside the configuration of the start
		swaps++
		return r.alone(context.Background(), func() error { return r.writeConfig(fmt.Sprintf("_swap%03d", swaps), text) })
	}
	r.swaps.Exchange = func(ctx context.Context, x setup.Export, fresh *setup.Stages) (old *setup.Stages, began string, err error) {
		err = r.bounds.do(ctx, func() (err error) { old, began, err = r.exchange(ctx, x, fresh); return err })
		return old, began, err
	}
	return nil
}

// exchange puts new stages to work, between two steps.
func (r *training) exchange(ctx context.Context, x setup.Export, fresh *setup.Stages) (old *setup.Stages, began string, err error) {
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
	r.cfg.Export = x
	return old, began, nil
}

// close ends the training; err is what it came to.
func (r *training) close(err error) error {
	if r.process != nil {
		return r.process.Close(err)
	}
	return errors.Join(err, r.release())
}

// release closes all that is open, in the reverse order of opening.
func (r *training) release() error {
	var errs []error
	if r.pace != nil {
		errs = append(errs, r.pace.Close())
	}
	errs = append(errs, r.players.close())
	if r.rows != nil {
		errs = append(errs, r.rows.Close())
	}
	errs = append(errs, r.stages.Close()) // after all that use them, before the events that tell of it end
	if r.trainer != nil {
		errs = append(errs, r.trainer.Close())
	}
	errs = append(errs, r.players.nets.Close())
	if r.ledger != nil {
		errs = append(errs, r.ledger.close())
	}
	return errors.Join(errs...)
}

// errEnding answers calls that come when the training is over.
var errEnding = errors.New("the run is ending")

// boundary lets other goroutines have something done on the one that trains,
// between two optimizer steps.
type boundary struct {
	calls chan func()
	ended context.Context // there are no more boundaries
	end   context.CancelFunc
}

func newBoundary() *boundary {
	b := &boundary{calls: make(chan func())}
	b.ended, b.end = context.WithCancel(context.Background())
	return b
}

// do has fn called at the next boundary and returns its error. errEnding: no
// boundary comes any more.
func (b *boundary) do(ctx context.Context, fn func() error) error {
	done := make(chan error, 1)
	select {
	case b.calls <- func() { done <- fn() }:
		return <-done
	case <-b.ended.Done():
		return errEnding
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve does what waits. It is called by the goroutine that trains.
func (b *boundary) serve() {
	for {
		select {
		case call := <-b.calls:
			call()
		default:
			return
		}
	}
}

// during calls wait on a goroutine of its own, and does what comes meanwhile on this one.
func (b *boundary) during(wait func() error) error {
	over := make(chan error, 1)
	go func() { over <- wait() }()
	for {
		select {
		case err := <-over:
			return err
		case call := <-b.calls:
			call()
		}
	}
}
