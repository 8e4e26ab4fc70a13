package main

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/pipeline"
)

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
