package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/monitor/report"
	"github.com/chessbrain/chessbrain/run/tools"
)

// overfitOptions are the flags of overfit.
type overfitOptions struct {
	subjectFlags
	tools.OverfitOptions
}

func newOverfit() *cobra.Command {
	o := overfitOptions{subjectFlags: subjectFlags{fresh: true, madeUp: true}}
	c := &cobra.Command{
		Use:   "overfit --config FILE [--data DATA]",
		Short: "Learn one batch by heart, to check a net with its losses and optimizer",
		Long: `Trains on one fixed batch until the loss is near the least that it can be: the entropy of the targets; each
single loss must lose half of its own excess, too. Exit code 1 means that the batch was not learnt, and so that net,
losses, optimizer and learning rate do not work together. L2, warm-up and averaging are left out, and nothing is
saved. Without --data the rows are made up.`,
		Example: "  chessbrain overfit --config run.textproto --data runs/a --rows 32 --steps 1000",
		Args:    noArgs,
		RunE:    o.tool(o.Validate, o.run),
	}
	o.bind(c)
	f := c.Flags()
	f.StringVar(&o.data, "data", "", dataHelp+"; empty = made-up rows")
	f.IntVar(&o.Rows, "rows", 32, "rows of the batch")
	f.IntVar(&o.Steps, "steps", 1000, "steps at most")
	f.Float64Var(&o.LR, "lr", 0, "constant learning rate; 0 = the largest of the configuration")
	f.Float64Var(&o.Near, "near", 0.05, "share of the first excess over the floor at which the batch is learnt")
	f.IntVar(&o.Every, "every", 10, "steps between two lines of the curve")
	bindJSON(c, "one JSON object instead of lines")
	return c
}

func (o *overfitOptions) run(c *cobra.Command, s *tools.Subject, rows *tools.Rows) error {
	show := func(p tools.OverfitPoint) error {
		_, err := fmt.Fprintf(textOut(c), "step %5d  loss %.4f  over the floor %.4f%s\n", p.Step, float64(p.Loss), float64(p.Excess), tools.LossText(p.Losses))
		return err
	}
	r, err := tools.Overfit(c.Context(), s, rows, o.OverfitOptions, show)
	if err != nil && !errors.Is(err, tools.ErrNotLearnt) {
		return err
	}
	return errors.Join(err, answer(c, r))
}

// epochOptions are the flags of train-epoch.
type epochOptions struct {
	subjectFlags
	tools.EpochOptions
}

func newTrainEpoch() *cobra.Command {
	o := epochOptions{subjectFlags: subjectFlags{fresh: true}}
	c := &cobra.Command{
		Use:   "train-epoch --run-dir RUN | --config FILE --data DATA",
		Short: "Train once over data without saving anything, and say how fast it was",
		Long: `Trains on every row once, in a drawn order, and prints losses, steps/s and rows/s. Nothing is saved: it is
for measuring. A run's newest checkpoint goes on with its moments and its place in the learning-rate schedule;
--config alone begins with a fresh net, --net with another one.`,
		Example: "  chessbrain train-epoch --run-dir runs/a --data runs/a --steps 500",
		Args:    noArgs,
		RunE:    o.tool(o.validate, o.run),
	}
	o.bind(c)
	f := c.Flags()
	f.StringVar(&o.data, "data", "", dataHelp)
	f.IntVar(&o.Steps, "steps", 0, "steps at most; 0 = all data once")
	f.IntVar(&o.Every, "every", 50, "steps between two lines")
	bindJSON(c, "one JSON object at the end instead of lines")
	return c
}

func (o *epochOptions) validate() error {
	if o.Steps < 0 || o.Every < 1 {
		return usagef("--steps %d, --every %d: want 0 or more, and 1 or more", o.Steps, o.Every)
	}
	return nil
}

func (o *epochOptions) run(c *cobra.Command, s *tools.Subject, rows *tools.Rows) error {
	show := func(p tools.EpochPoint) error {
		_, err := fmt.Fprintf(textOut(c), "step %6d  rows %8d  lr %.3g  loss %.4f%s  %.0f rows/s\n",
			p.Step, p.Rows, p.LR, float64(p.Loss), tools.LossText(p.Losses), float64(p.PerSec))
		return err
	}
	r, err := tools.TrainEpoch(c.Context(), s, rows, o.EpochOptions, show)
	if err != nil {
		return err
	}
	return answer(c, r)
}

// tuneOptions are the flags of tune-lr.
type tuneOptions struct {
	subjectFlags
	out, plot string
	tools.RangeOptions
}

func newTuneLR() *cobra.Command {
	o := tuneOptions{subjectFlags: subjectFlags{fresh: true}}
	c := &cobra.Command{
		Use:   "tune-lr --config FILE --data DATA --out FILE.csv [--plot FILE.svg]",
		Short: "Train with a growing learning rate and say at which the loss falls fastest",
		Long: `Learning-rate range test: trains with a rate that grows exponentially from --from to --to, until the loss
diverges (4 times its best smoothed value, or not finite). Writes a line a step as CSV, and suggests the rate at
which the smoothed loss falls steepest over the logarithm of the rate. Look at the picture: of small batches and few
steps the curve is noise. Nothing is saved, and no run is touched.`,
		Example: "  chessbrain tune-lr --config run.textproto --data runs/a --out lr.csv --plot lr.svg",
		Args:    noArgs,
		RunE:    o.tool(o.validate, o.run),
	}
	o.bind(c)
	f := c.Flags()
	f.StringVar(&o.data, "data", "", dataHelp)
	f.Float64Var(&o.From, "from", 1e-5, "first learning rate")
	f.Float64Var(&o.To, "to", 1, "last learning rate")
	f.IntVar(&o.Steps, "steps", 200, "steps from the first to the last")
	f.StringVar(&o.out, "out", "", "CSV file: step, lr, loss, smoothed_loss, grad_norm, and each loss")
	f.StringVar(&o.plot, "plot", "", "picture of loss over rate, .svg")
	bindJSON(c, "print the suggestion as one JSON object")
	return c
}

func (o *tuneOptions) validate() error {
	if err := cmp.Or(o.Validate(), checkOut(o.out), notRead("out", o.out, o.config, o.net, o.data)); err != nil {
		return err
	}
	if o.plot == "" {
		return nil
	}
	if strings.ToLower(filepath.Ext(o.plot)) != report.ChartFormat {
		return usagef("--plot %s: want a name that ends with %s", o.plot, report.ChartFormat)
	}
	return canCreate("plot", o.plot)
}

func (o *tuneOptions) run(c *cobra.Command, s *tools.Subject, rows *tools.Rows) error {
	r, err := tools.TuneLR(c.Context(), s, rows, o.RangeOptions)
	if err != nil {
		return err
	}
	if err := fsx.WriteNamed(o.out, r.WriteCSV); err != nil {
		return pathError(fmt.Errorf("--out: %w", err))
	}
	if o.plot != "" && len(r.Points) > 0 {
		if err := r.Chart().Write(o.plot); err != nil {
			return pathError(err)
		}
	}
	return answerf(c, r, "%s", r.Text(o.To, o.out))
}

// evalOptions are the flags of eval.
type evalOptions struct {
	subjectFlags
	tools.EvalOptions
	dump, dumpFile string
}

func newEval() *cobra.Command {
	var o evalOptions
	c := &cobra.Command{
		Use:   "eval --run-dir RUN | --checkpoint DIR | --net NET [--data DATA]",
		Short: "Measure the configured losses of a net on given rows, or dump them",
		Long: `Measures the losses of the configuration as training logs them (means over rows, weighted as the rows are).
Without --data it takes the games that the run held out at that checkpoint. Batches lie evenly spread over the rows;
a loader needs --batches.

--dump writes what went in, what was wanted and what the net says of each row: text for reading, json (an object a
line), or npz (numpy: inputs [N,112,8,8], policy_target [N,1858] with -1 where a move is not legal, value_targets
[N,6,3] = Q, D, M of result, root, best, played, orig, st, weight, and the net's policy, wdl, moves_left).`,
		Example: `  chessbrain eval --net se32x2.pb.gz --data training-1.tar --batches 4 --dump npz --dump-file rows.npz`,
		Args:    noArgs,
		RunE:    o.tool(o.validate, o.run),
	}
	o.bind(c)
	f := c.Flags()
	f.StringVar(&o.checkpoint, "checkpoint", "", "a checkpoint directory")
	f.StringVar(&o.weights, "weights", "raw", "weights of a checkpoint: raw, or swa (averaged)")
	f.StringVar(&o.data, "data", tools.Validation, "validation (held out by the run), "+dataHelp)
	f.IntVar(&o.Batches, "batches", 0, "batches to measure; 0 = all rows")
	f.IntVar(&o.BatchSize, "batch-size", 0, "rows of a batch; 0 = training.batch_size")
	bindJSON(c, "one JSON object")
	f.StringVar(&o.dump, "dump", "", "dump the rows: "+strings.Join(tools.DumpFormats, ", "))
	f.StringVar(&o.dumpFile, "dump-file", "", "file for the dump")
	return c
}

func (o *evalOptions) validate() error {
	switch {
	case o.Batches < 0 || o.Batches > math.MaxInt32:
		return usagef("--batches %d: want 0 or more", o.Batches)
	case o.BatchSize < 0 || o.BatchSize > 1<<16:
		return usagef("--batch-size %d: want 1 to 65536, or 0 for the configured one", o.BatchSize)
	case (o.dump == "") != (o.dumpFile == ""):
		return usagef("--dump %q, --dump-file %q: give both or none", o.dump, o.dumpFile)
	case o.dump != "" && !slices.Contains(tools.DumpFormats, o.dump):
		return usagef("--dump %q: want one of %s", o.dump, strings.Join(tools.DumpFormats, ", "))
	}
	if o.dumpFile != "" {
		return canCreate("dump-file", o.dumpFile)
	}
	return nil
}

func (o *evalOptions) run(c *cobra.Command, s *tools.Subject, rows *tools.Rows) (err error) {
	var dump *tools.Dump
	if o.dump != "" {
		if dump, err = tools.NewDump(c.Context(), s); err != nil {
			return err
		}
		defer closeAfter(&err, dump)
		o.Keep = dump.Keep
	}
	r, err := tools.Eval(c.Context(), s, rows, o.EvalOptions)
	if err != nil {
		return err
	}
	if dump != nil {
		if err := fsx.WriteNamed(o.dumpFile, func(w io.Writer) error { return dump.Write(w, o.dump) }); err != nil {
			return pathError(fmt.Errorf("--dump-file: %w", err))
		}
	}
	return answer(c, r)
}

// backfillOptions are the flags of backfill-metrics.
type backfillOptions struct {
	dir, run string
	tools.BackfillOptions
}

func newBackfillMetrics() *cobra.Command {
	var o backfillOptions
	c := &cobra.Command{
		Use:   "backfill-metrics --checkpoints DIR | --run-dir RUN",
		Short: "Measure the losses of old checkpoints and write them as metrics",
		Long: `Measures the configured losses of every checkpoint that is still there, raw weights and averages, on the
same rows, and writes validation events with the checkpoints' own steps and times into a directory of their own,
metrics/<job>-backfill. A second call adds only what is missing. Change the losses of --config to get a metric that
the run did not have.`,
		Example: "  chessbrain backfill-metrics --run-dir runs/a --since 5000",
		Args:    noArgs,
		RunE:    stoppable(o.measure),
	}
	f := c.Flags()
	f.StringVar(&o.dir, "checkpoints", "", "directory of checkpoints")
	f.StringVar(&o.run, "run-dir", "", "run whose checkpoints are measured")
	f.StringVar(&o.Config, "config", "", "configuration with the losses (default: that of the run)")
	f.StringVar(&o.Data, "data", tools.Validation, "validation (held out by the run), a run or a directory of games, or a directory of shuffles")
	f.IntVar(&o.Rows, "rows", 10000, "rows at most, evenly spread; 0 = all")
	f.Int64Var(&o.Since, "since", 0, "leave out checkpoints of earlier steps")
	f.StringVar(&o.Out, "out", "", "metrics directory for the events")
	bindJSON(c, "print one JSON object at the end")
	return c
}

func (o *backfillOptions) measure(c *cobra.Command, _ []string) error {
	switch {
	case (o.dir == "") == (o.run == ""):
		return usagef("%s: give --checkpoints or --run-dir", c.CommandPath())
	case o.Rows < 0 || o.Since < 0:
		return usagef("--rows %d, --since %d: want 0 or more", o.Rows, o.Since)
	}
	o.Path = o.dir + o.run // one of them is empty
	o.Show = func(e *monitor.Validation) error {
		_, err := fmt.Fprintf(textOut(c), "step %d  %s weights  %d rows%s\n", e.Step, e.Weights, e.Rows, tools.LossText(e.Losses))
		return err
	}
	r, err := tools.Backfill(c.Context(), o.BackfillOptions)
	if errors.Is(err, context.Canceled) {
		return interruptedf("interrupted; what was measured is written, and the same command goes on")
	}
	if err != nil {
		return pathError(err)
	}
	tellEach(c, "left out: %v", r.Problems)
	err = answerf(c, r, "%s: %s written, %d there before -> %s\n", monitor.Count(r.Checkpoints, "checkpoint"), monitor.Count(r.Written, "event"), r.There, r.Out)
	if err == nil && len(r.Problems) > 0 {
		err = corruptf("%d things could not be read; the rest was measured", len(r.Problems))
	}
	return err
}
