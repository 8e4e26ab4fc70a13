package exporting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// DefaultPoll is how often a process that goes on looks for nets.
const DefaultPoll = 30 * time.Second

// Options start an exporter.
type Options struct {
	Effective *config.Effective
	Gating    bool   // nets are candidates of the gatekeeper; else they play at once
	From      string // directory that trainers hand nets over in; "" = toexport/ of the run, and toexport_extra/ beside it
	To        string // directory of the nets made; "" = modelstobetested/, or models/ without Gating

	Once     bool          // end when there is nothing left to export
	Poll     time.Duration // else: between two looks; 0 = DefaultPoll
	LockWait time.Duration // how long to wait for another exporter of the run to end
	Locked   bool          // the caller holds the run's lock

	Command string
	Version string // of the program
	Log     *slog.Logger
	Readers []monitor.Sink // of the events, such as Prometheus
}

// Net is one net that was exported.
type Net struct {
	Name    string   `json:"net"`
	NetID   string   `json:"net_id"`
	Weights string   `json:"weights"` // raw or swa
	Files   []string `json:"files"`   // what self-play reads is the last one
}

// Summary is what an exporter did.
type Summary struct {
	Nets  []Net    `json:"nets"`            // in the order of their export
	Known []string `json:"known,omitempty"` // handed over again, but there already: only taken away
}

// queue is a directory that nets are taken from and where their files go.
type queue struct {
	from, to string
	known    []string // directories where a net of the same name may have gone since
}

// exporter is an exporting process.
type exporter struct {
	opt     Options
	cfg     *config.Config
	log     *slog.Logger
	dir     run.Dir
	queues  []queue
	stages  *setup.Stages
	bus     *monitor.Bus
	locks   []*fsx.Lock
	control *run.Control
	failed  map[string]error // by source directory
	done    Summary
	page    run.Shared[Page]
}

// Run exports the nets that are handed over, oldest first: all there are with
// Once, else until ctx ends, which is run.ErrInterrupted. Errors: *fsx.LockedError
// where another exporter is at work, config errors, and those of single nets at the
// end.
func Run(ctx context.Context, opt Options) (*Summary, error) {
	x := &exporter{opt: opt, cfg: opt.Effective.Config, log: opt.Log, failed: map[string]error{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err := x.open(ctx, stop)
	if err == nil {
		err = x.work(ctx)
	}
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = run.ErrInterrupted
	}
	return &x.done, errors.Join(err, x.close())
}

// open takes the locks, opens the exporter and cleans up after a process that was
// killed. The status page is there until close.
func (x *exporter) open(ctx context.Context, stop func()) error {
	var info run.RunInfo
	var err error
	if x.dir, info, err = setup.Layout(x.cfg); err != nil {
		return err
	}
	x.queues = x.plan()
	x.page.Set(func(p *Page) {
		*p = Page{Role: role, Stage: "waiting"}
		for _, q := range x.queues {
			p.From = append(p.From, q.from)
		}
	})
	if err := x.takeLocks(ctx); err != nil {
		return err
	}
	if x.stages, err = setup.OpenExporter(ctx, x.opt.Effective, x.dir.Root, x.log); err != nil {
		return err
	}
	x.bus = monitor.NewBus(monitor.BusOptions{Job: info.Job})
	for _, r := range x.opt.Readers {
		x.bus.Attach(r)
	}
	for _, q := range x.queues {
		if err := x.prepare(q); err != nil {
			return err
		}
	}
	return x.listen(stop)
}

// takeLocks shares the run and takes the exporter's role.
func (x *exporter) takeLocks(ctx context.Context) error {
	locks := filepath.Join(x.dir.Root, "locks")
	if err := fsx.MkdirAll(fsx.OS, locks); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	if !x.opt.Locked {
		if err := x.lock(ctx, filepath.Join(locks, "run"), true); err != nil {
			return err
		}
	}
	return x.lock(ctx, filepath.Join(locks, role), false)
}

// prepare makes the directories of a queue and removes what a killed process left
// half made.
func (x *exporter) prepare(q queue) error {
	for _, d := range []string{q.from, q.to} {
		if err := fsx.MkdirAll(fsx.OS, d); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	return removeMarked(q)
}

// plan returns the directories that nets are taken from.
func (x *exporter) plan() []queue {
	below := func(name string) string { return filepath.Join(x.dir.Root, name) }
	models, tests, rejected := below("models"), below("modelstobetested"), below("rejectedmodels")
	q := queue{from: x.opt.From, to: x.opt.To, known: []string{models, tests, rejected}}
	if q.to == "" {
		q.to = models
		if x.opt.Gating {
			q.to = tests
		}
	}
	q.known = append(q.known, q.to)
	if q.from != "" {
		return []queue{q}
	}
	q.from = x.dir.ToExport()
	extra := queue{from: x.dir.ToExportExtra(), to: below("models_extra"), known: []string{below("models_extra")}}
	return []queue{q, extra}
}

// lock takes a lock of the run, and waits for it as long as the options say.
func (x *exporter) lock(ctx context.Context, path string, shared bool) error {
	l, err := fsx.AcquireWithin(ctx, path, fsx.LockOptions{Shared: shared, Command: x.opt.Command}, x.opt.LockWait)
	if err == nil {
		x.locks = append(x.locks, l)
	}
	return err
}

// pause waits. nil: the time is over.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work exports what is there, again and again unless Once is set.
func (x *exporter) work(ctx context.Context) error {
	poll := x.opt.Poll
	if poll <= 0 {
		poll = DefaultPoll
	}
	for first := true; ; first = false {
		for _, q := range x.queues {
			if err := x.takeAll(ctx, q); err != nil {
				return err
			}
		}
		if x.opt.Once {
			return x.failures()
		}
		if first {
			x.log.Info("looking for nets", "in", x.queues[0].from, "every", poll)
		}
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
}

// failures joins the errors of the nets that could not be exported, by name.
func (x *exporter) failures() error {
	var names []string
	for path := range x.failed {
		names = append(names, path)
	}
	slices.Sort(names)
	var errs []error
	for _, path := range names {
		errs = append(errs, x.failed[path])
	}
	return errors.Join(errs...)
}

// lockLost says whether another process took one of the locks over, thinking this
// one dead: it must write nothing more.
func (x *exporter) lockLost() error {
	for _, l := range x.locks {
		select {
		case <-l.Lost():
			return fmt.Errorf("another process took over %s while this one was suspended; nothing more is written", x.dir.Root)
		default:
		}
	}
	return nil
}

// close ends everything that is open.
func (x *exporter) close() error {
	var errs []error
	if x.control != nil {
		errs = append(errs, x.control.Close())
	}
	errs = append(errs, x.stages.Close())
	if x.bus != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		errs = append(errs, x.bus.Close(ctx))
	}
	for _, l := range slices.Backward(x.locks) {
		errs = append(errs, l.Release())
	}
	return errors.Join(errs...)
}
