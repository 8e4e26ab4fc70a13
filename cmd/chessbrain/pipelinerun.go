package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/pipeline"
)

// run checks, runs the steps and prints what they came to.
func (o *pipelineFlags) run(c *cobra.Command, args []string) error {
	if err := handOverFor("device", "auto"); err != nil { // its configurations say what trains where
		return err
	}
	goesOn, err := o.prepare(c, args)
	if err != nil {
		return err
	}
	if err := o.chooseNet(); err != nil {
		return err
	}
	if err := pipeline.Check(o.Options); err != nil {
		if as[*prepare.ManifestError](err) {
			return corrupt(err)
		}
		return usageError{err} // nothing was begun: flags, or what they name
	}
	if o.dryRun {
		return answer(c, pipeline.NewPlanned(o.Options, goesOn))
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	file := filepath.Join(o.logDir, "pipeline_"+o.T+".log")
	var state *pipeline.State
	err = shown(file, o.quiet, func(log *slog.Logger, progress *monitor.Progress) (err error) {
		o.Log, o.Progress = log, progress
		if goesOn {
			log.Info("goes on with the unfinished run", "T", o.T)
		}
		if state, err = pipeline.Run(ctx, o.Options); err != nil {
			log.Info("the pipeline ended early", "T", o.T, "error", err) // the terminal gets it as the command's error
		}
		return err
	})
	if err != nil {
		return endedBy(err, "interrupted; all work is kept, and the same command goes on with run %s (or --resume %s)", o.T, o.T)
	}
	return answer(c, &pipeline.Report{State: state, Log: file})
}

// chooseNet finds the net that plays, before anything is made.
func (o *pipelineFlags) chooseNet() error {
	spec := o.net
	if o.step >= 0 {
		if spec == "" {
			return usagef("--step %d: name the run or the directory of checkpoints with --net", o.step)
		}
		spec = fmt.Sprintf("%s@%d", spec, o.step)
	}
	if spec == "" {
		return nil
	}
	if _, err := pipeline.ReadState(o.Base, o.T); err == nil {
		return nil // it was kept when the run began
	}
	net, err := openNet(spec)
	if err != nil {
		return err
	}
	o.Net, o.NetName = net.Net, net.Name
	return nil
}

// endedBy is the error of a pipeline, of one of its steps or of a sweep: inputs that are
// missing or belong to something else are usage errors, and of an interrupt format says
// what is kept.
func endedBy(err error, format string, args ...any) error {
	switch {
	case isAny(err, context.Canceled, run.ErrInterrupted):
		return interruptedf(format, args...)
	case isAny(err, prepare.ErrNoInput, prepare.ErrOther, prepare.ErrForeign):
		return usageError{err}
	case as[*prepare.ManifestError](err):
		return corrupt(err)
	}
	return pathError(err)
}

// shown does work with a log in a file and on the terminal, and the progress of training.
func shown(file string, quiet bool, work func(*slog.Logger, *monitor.Progress) error) error {
	columns, _ := monitor.TerminalSize(os.Stderr)
	progress := monitor.NewProgress(monitor.ProgressOptions{
		Out: os.Stderr, Terminal: monitor.IsTerminal(os.Stderr), Width: columns, Quiet: quiet})
	d := config.Defaults().GetLog()
	log, closer, err := monitor.NewLogger(monitor.LogOptions{File: file, MaxBytes: int64(d.GetMaxMib()) << 20, Keep: int(d.GetKeep()),
		Terminal: progress, Quiet: quiet})
	if err != nil {
		return pathError(fmt.Errorf("open log %s: %w; name another place with --log-dir", file, err))
	}
	return errors.Join(work(log, progress), closer.Close(), progress.Close())
}

// commandLine is the command as it was typed, for locks.
func commandLine(c *cobra.Command) string {
	return strings.Join(append([]string{c.Root().Name()}, os.Args[min(1, len(os.Args)):]...), " ")
}

// sweepFlags are the flags of pipeline sweep.
type sweepFlags struct {
	pipeline.SweepOptions
	grid   []string
	quiet  bool
	dryRun bool
}

func newSweep() *cobra.Command {
	o := &sweepFlags{}
	c := &cobra.Command{
		Use:   "sweep --grid NAME=VALUE,... --results-dir DIR --data DIR",
		Short: "Train one net for each point of a grid, on the same rows, and compare them",
		Long: `Trains a trial for each combination of the grid's values, one after the other, on the rows of a finished
shuffle. All trials see the same rows, begin with the same seed, and are measured on the same validation rows. Names
of the grid are flags of chessbrain train (lr, net, batch-size, ...) or fields of the configuration
(training.loss...). A part without = is a further value of the name before it.

DIR has a run directory for each trial, with its result in trial.json; sweep.csv and sweep.json, the table; and
best, a link to the trial with the least policy and value loss. The same command goes on after Ctrl-C (exit code 5),
or with further values. A trial whose loss is not finite has the status "diverged"; any other failure ends it all.`,
		Example: `  chessbrain pipeline sweep --grid lr=0.1,0.02,net=32x4,64x6 --results-dir sweeps/a --data shuffled_20260101_120000`,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.grid, "grid", nil, "NAME=VALUE,VALUE,...[,NAME=...]; may come several times")
	f.StringVar(&o.Results, "results-dir", "", "directory of the trials and the table")
	f.StringArrayVar(&o.Data, "data", nil, "a shuffle, or a directory of them whose newest is meant; may come several times")
	f.Int64Var(&o.Samples, "samples", 0, "rows that each trial sees; 0 = by --epochs")
	f.Int64Var(&o.Epochs, "epochs", 1, "passes over the rows")
	f.Uint64Var(&o.Seed, "seed", 7, "of all trials, unless the grid has seed")
	f.StringVar(&o.Config.Path, "config", "", "configuration file that the grid varies (textproto)")
	f.StringArrayVar(&o.Config.Overrides, "override-config", nil, "fields of the configuration, path=value[,path=value...]")
	f.BoolVar(&o.quiet, "quiet", false, "no progress on the terminal")
	f.BoolVar(&o.dryRun, "dry-run", false, "check all trials and list them, create nothing")
	bindJSON(c, "print the table as one JSON object")
	return c
}

// run trains the trials and prints the table.
func (o *sweepFlags) run(c *cobra.Command) error {
	if o.Results == "" || len(o.Data) == 0 {
		return usagef("--results-dir and --data: name the directory of the trials and a finished shuffle")
	}
	var err error
	if o.Grid, err = pipeline.ParseGrid(o.grid); err != nil {
		return usageError{err}
	}
	trials, err := o.Check()
	if err != nil {
		return usageError{err}
	}
	if o.dryRun {
		for _, t := range trials {
			fmt.Fprintln(c.OutOrStdout(), filepath.Join(o.Results, t.Name))
		}
		_, err := fmt.Fprintf(c.OutOrStdout(), "%d trials; this is a dry run: nothing is created\n", len(trials))
		return err
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	var report *pipeline.SweepReport
	err = shown(filepath.Join(o.Results, "sweep.log"), o.quiet, func(log *slog.Logger, progress *monitor.Progress) (err error) {
		o.Command, o.Version, o.Log, o.Progress = commandLine(c), version(), log, progress
		report, err = pipeline.Sweep(ctx, o.SweepOptions)
		return err
	})
	if err != nil {
		return endedBy(err, "interrupted; what was trained is kept, and the same command goes on")
	}
	err = answer(c, report)
	if err == nil && report.Best == "" {
		err = fmt.Errorf("all %d trials diverged; widen --grid to lower learning rates", len(report.Results))
	}
	return err
}
