package exporting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// DefaultPoll is how often a process that goes on looks for nets, unless it is told otherwise.
const DefaultPoll = 30 * time.Second

// Options start an exporter.
type Options struct {
	Effective *setup.Effective
	Gating    bool   // nets are candidates of the gatekeeper; else they play at once
	From      string // directory that trainers hand nets over in; "" = toexport/ of the run, and toexport_extra/ beside it
	To        string // directory of the nets made; "" = modelstobetested/, or models/ without Gating

	Once     bool          // end when there is nothing left to export
	Poll     time.Duration // else: between two looks, above 0
	LockWait time.Duration // how long to wait for another exporter of the run to end
	Locked   bool          // the caller holds the run's lock

	Command string
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

// Write prints for a person what was exported.
func (s *Summary) Write(w io.Writer) error {
	for _, n := range s.Nets {
		if _, err := fmt.Fprintf(w, "%s (%s) -> %s\n", n.Name, n.Weights, strings.Join(n.Files, ", ")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s exported\n", monitor.Count(len(s.Nets), "net"))
	return err
}

// Page is one page of an exporter's state, as its control socket shows it.
type Page struct {
	Role     string   `json:"role"`
	Stage    string   `json:"stage"` // exporting or waiting
	Net      string   `json:"net,omitempty"`
	Exported int      `json:"exported"` // by this process
	Newest   string   `json:"newest,omitempty"`
	From     []string `json:"from"`
}

// queue is a directory that nets are taken from and where their files go.
type queue struct {
	from, to string
	known    []string // directories where a net of the same name may have gone since
}

// exporter is an exporting process.
type exporter struct {
	opt     Options
	want    *setup.Training
	log     *slog.Logger
	dir     run.Dir
	queues  []queue
	stages  *setup.Stages
	process *run.Process
	failed  map[string]error // by source directory
	done    Summary
	page    run.Shared[Page]
}

// Run exports the nets that are handed over, oldest first: all there are with
// Once, else until ctx ends, which is run.ErrInterrupted. Errors: *fsx.LockedError
// where another exporter is at work, config errors, and those of single nets at the
// end.
func Run(ctx context.Context, opt Options) (*Summary, error) {
	x := &exporter{opt: opt, want: setup.TrainingOf(opt.Effective), log: opt.Log, failed: map[string]error{}}
	if err := x.open(ctx); err != nil {
		return &x.done, err
	}
	return &x.done, x.process.Close(x.do(x.process.Context()))
}

// open takes the exporter's role. It has no metrics of its own: what becomes of a
// net stands in the gatekeeper's.
func (x *exporter) open(ctx context.Context) error {
	var info run.RunInfo
	var err error
	if x.dir, info, err = setup.Layout(x.opt.Effective.Config); err != nil {
		return err
	}
	x.queues = x.plan()
	x.page.Set(func(p *Page) {
		*p = Page{Role: string(run.Exporter), Stage: "waiting"}
		for _, q := range x.queues {
			p.From = append(p.From, q.from)
		}
	})
	o := run.Options{Run: run.RunShared, Locked: x.opt.Locked, LockWait: x.opt.LockWait, Command: x.opt.Command, Log: x.log,
		Events: &run.Events{Job: info.Job, Readers: x.opt.Readers},
		Commands: &run.Commands{
			Status: func() any { return x.page.Get() },
			Swap: func(context.Context, run.Swap) error {
				return errors.New("an exporter's stages are exchanged by starting it again")
			},
		}}
	x.process, err = run.Open(ctx, x.dir, run.Exporter, o)
	return err
}

// do opens the configured stages, cleans up after a process that was killed, and
// works.
func (x *exporter) do(ctx context.Context) (err error) {
	if x.stages, err = setup.OpenKinds(ctx, x.opt.Effective, x.dir.Root, x.log, stage.KindExporter); err != nil {
		return err
	}
	x.process.OnClose(x.stages.Close)
	for _, q := range x.queues {
		for _, d := range []struct{ dir, mark string }{{q.from, fsx.RemovedMark}, {q.to, stagingMark}} {
			if err := errors.Join(fsx.MkdirAll(fsx.OS, d.dir), fsx.RemoveTemps(fsx.OS, d.dir, d.mark), run.Sweep(map[string]int{d.dir: 0}, x.log)); err != nil {
				return fmt.Errorf("prepare directory: %w", err)
			}
		}
	}
	return x.work(ctx)
}

// plan returns the directories that nets are taken from.
func (x *exporter) plan() []queue {
	d := x.dir
	q := queue{from: x.opt.From, to: x.opt.To, known: []string{d.Models(), d.Candidates(), d.Rejected()}}
	if q.to == "" {
		q.to = d.Models()
		if x.opt.Gating {
			q.to = d.Candidates()
		}
	}
	q.known = append(q.known, q.to)
	if q.from != "" {
		return []queue{q}
	}
	q.from = d.ToExport()
	extra := queue{from: d.ToExportExtra(), to: d.ModelsExtra(), known: []string{d.ModelsExtra()}}
	return []queue{q, extra}
}

// work exports what is there, again and again unless Once is set: then its error is that
// of all nets that could not be exported.
func (x *exporter) work(ctx context.Context) error {
	for first := true; ; first = false {
		for _, q := range x.queues {
			if err := x.takeAll(ctx, q); err != nil {
				return err
			}
		}
		if x.opt.Once {
			var errs []error
			for _, path := range slices.Sorted(maps.Keys(x.failed)) {
				errs = append(errs, x.failed[path])
			}
			return errors.Join(errs...)
		}
		if first {
			x.log.Info("looking for nets", "in", x.queues[0].from, "every", x.opt.Poll)
		}
		if err := run.Sleep(ctx, x.opt.Poll); err != nil {
			return err
		}
	}
}

// DryRun checks the configuration and says which nets would be exported, and
// where to. It creates nothing.
func DryRun(opt Options, w io.Writer) (err error) {
	x := &exporter{opt: opt, want: setup.TrainingOf(opt.Effective)}
	if x.dir, _, err = setup.Layout(opt.Effective.Config); err != nil {
		return err
	}
	if x.stages, err = setup.LookAtStages(opt.Effective, setup.Uses{stage.KindExporter: setup.Opened}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.stages.Close()) }()
	fmt.Fprintf(w, "%s\nexport (dry run: nothing is created)\nexporter %s, weights %s\n", opt.Effective.Changed(), x.want.Export.Name, x.want.Export.Weights)
	x.stages.DescribeTo(w)
	for _, q := range x.plan() {
		all, err := sources(q.from)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s -> %s: %s\n", q.from, q.to, monitor.Count(len(all), "net"))
		for _, s := range all {
			at, err := q.has(s.Name)
			if err != nil {
				return err
			}
			if at != "" {
				at = ", which is there already"
			}
			fmt.Fprintf(w, "  %s%s\n", s.Name, at)
		}
	}
	return setup.DescribeSpace(w, x.dir.Root)
}
