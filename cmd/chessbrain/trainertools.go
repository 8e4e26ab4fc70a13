package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor/report"
	"github.com/chessbrain/chessbrain/run/tools"
)

// overfitOptions are the flags of overfit.
type overfitOptions struct {
	subject subjectFlags
	data    string
	tools.OverfitOptions
}

func newOverfit() *cobra.Command {
	var o overfitOptions
	c := &cobra.Command{
		Use:   "overfit --config FILE [--data DATA]",
		Short: "Learn one batch by heart, to check a net with its losses and optimizer",
		Long: `Trains on one fixed batch until the loss is near the least that it can be: the entropy of the targets; each
single loss must lose half of its own excess, too. Exit code 1 means that the batch was not learnt, and so that net,
losses, optimizer and learning rate do not work together. L2, warm-up and averaging are left out, and nothing is
saved. Without --data the rows are made up.`,
		Example: "  chessbrain overfit --config run.textproto --data runs/a --rows 32 --steps 1000",
		Args:    noArgs,
		RunE:    stoppable(o.run),
	}
	o.subject.bind(c, "config", "run-dir", "net")
	f := c.Flags()
	f.StringVar(&o.data, "data", "", dataHelp+"; empty = made-up rows")
	f.IntVar(&o.Rows, "rows", 32, "rows of the batch")
	f.IntVar(&o.Steps, "steps", 1000, "steps at most")
	f.Float64Var(&o.LR, "lr", 0, "constant learning rate; 0 = the first of the configuration")
	f.Float64Var(&o.Near, "near", 0.05, "share of the first excess over the floor at which the batch is learnt")
	f.IntVar(&o.Every, "every", 10, "steps between two lines of the curve")
	bindJSON(c, "one JSON object instead of lines")
	return c
}

func (o *overfitOptions) run(c *cobra.Command, _ []string) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	s, err := o.subject.open(c, true)
	if err != nil {
		return err
	}
	var rows *tools.Rows
	if o.data != "" {
		if rows, err = openRows(c, s, o.data); err != nil {
			return err
		}
		defer closeAfter(&err, rows)
	}
	out := c.OutOrStdout()
	var show func(tools.OverfitPoint) error
	if !wantsJSON(c) {
		show = func(p tools.OverfitPoint) error {
			_, err := fmt.Fprintf(out, "step %5d  loss %.4f  over the floor %.4f%s\n", p.Step, float64(p.Loss), float64(p.Excess), tools.LossText(p.Losses))
			return err
		}
	}
	r, err := tools.Overfit(c.Context(), s, rows, o.OverfitOptions, show)
	if err != nil && !errors.Is(err, tools.ErrNotLearnt) {
		return err
	}
	if err := errors.Join(err, answer(c, r)); err != nil {
		return err
	}
	return leftOut(rows)
}

// epochOptions are the flags of train-epoch.
type epochOptions struct {
	subject subjectFlags
	data    string
	tools.EpochOptions
}

func newTrainEpoch() *cobra.Command {
	var o epochOptions
	c := &cobra.Command{
		Use:   "train-epoch --run-dir RUN | --config FILE --data DATA",
		Short: "Train once over data without saving anything, and say how fast it was",
		Long: `Trains on every row once, in a drawn order, and prints losses, steps/s and rows/s. Nothing is saved: it is
for measuring. A run's newest checkpoint goes on with its moments and its place in the learning-rate schedule;
--config alone begins with a fresh net, --net with another one.`,
		Example: "  chessbrain train-epoch --run-dir runs/a --data runs/a --steps 500",
		Args:    noArgs,
		RunE:    stoppable(o.run),
	}
	o.subject.bind(c, "config", "run-dir", "net")
	f := c.Flags()
	f.StringVar(&o.data, "data", "", dataHelp)
	f.IntVar(&o.Steps, "steps", 0, "steps at most; 0 = all data once")
	f.IntVar(&o.Every, "every", 50, "steps between two lines")
	bindJSON(c, "one JSON object at the end instead of lines")
	return c
}

func (o *epochOptions) run(c *cobra.Command, _ []string) (err error) {
	if o.Steps < 0 || o.Every < 1 {
		return usagef("--steps %d, --every %d: want 0 or more, and 1 or more", o.Steps, o.Every)
	}
	s, rows, err := o.subject.openWith(c, true, o.data)
	if err != nil {
		return err
	}
	defer closeAfter(&err, rows)
	out := c.OutOrStdout()
	var show func(tools.EpochPoint) error
	if !wantsJSON(c) {
		show = func(p tools.EpochPoint) error {
			_, err := fmt.Fprintf(out, "step %6d  rows %8d  lr %.3g  loss %.4f%s  %.0f rows/s\n",
				p.Step, p.Rows, p.LR, float64(p.Loss), tools.LossText(p.Losses), float64(p.PerSec))
			return err
		}
	}
	r, err := tools.TrainEpoch(c.Context(), s, rows, o.EpochOptions, show)
	if err != nil {
		return err
	}
	return cmp.Or(answer(c, r), leftOut(rows))
}

// tuneOptions are the flags of tune-lr.
type tuneOptions struct {
	subject   subjectFlags
	data      string
	out, plot string
	tools.RangeOptions
}

func newTuneLR() *cobra.Command {
	var o tuneOptions
	c := &cobra.Command{
		Use:   "tune-lr --config FILE --data DATA --out FILE.csv [--plot FILE.svg]",
		Short: "Train with a growing learning rate and say at which the loss falls fastest",
		Long: `Learning-rate range test: trains with a rate that grows exponentially from --from to --to, until the loss
diverges (4 times its best smoothed value, or not finite). Writes a line a step as CSV, and suggests the rate at
which the smoothed loss falls steepest over the logarithm of the rate. Look at the picture: of small batches and few
steps the curve is noise. Nothing is saved, and no run is touched.`,
		Example: "  chessbrain tune-lr --config run.textproto --data runs/a --out lr.csv --plot lr.svg",
		Args:    noArgs,
		RunE:    stoppable(o.run),
	}
	o.subject.bind(c, "config", "run-dir", "net")
	f := c.Flags()
	f.StringVar(&o.data, "data", "", dataHelp)
	f.Float64Var(&o.From, "from", 1e-5, "first learning rate")
	f.Float64Var(&o.To, "to", 1, "last learning rate")
	f.IntVar(&o.Steps, "steps", 200, "steps from the first to the last")
	f.StringVar(&o.out, "out", "", "CSV file: step, lr, loss, smoothed_loss, grad_norm, and each loss")
	f.StringVar(&o.plot, "plot", "", "picture of loss over rate, .svg or .png")
	bindJSON(c, "print the suggestion as one JSON object")
	return c
}

// validate refuses what cannot be, before anything is read.
func (o *tuneOptions) validate() error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := checkOut(o.out); err != nil {
		return err
	}
	if o.plot == "" {
		return nil
	}
	if !slices.Contains(report.ChartFormats, strings.ToLower(filepath.Ext(o.plot))) {
		return usagef("--plot %s: want a name that ends with %s", o.plot, strings.Join(report.ChartFormats, " or "))
	}
	return canCreate("plot", o.plot)
}

func (o *tuneOptions) run(c *cobra.Command, _ []string) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	s, rows, err := o.subject.openWith(c, true, o.data)
	if err != nil {
		return err
	}
	defer closeAfter(&err, rows)
	r, err := tools.TuneLR(c.Context(), s, rows, o.RangeOptions)
	if err != nil {
		return err
	}
	if err := fsx.WriteFileFunc(fsx.OS, o.out, r.WriteCSV); err != nil {
		return pathError(fmt.Errorf("--out: %w", err))
	}
	if o.plot != "" && len(r.Points) > 0 {
		if err := r.Chart().Write(o.plot); err != nil {
			return pathError(err)
		}
	}
	return cmp.Or(answerf(c, r, "%s", r.Text(o.To, o.out)), leftOut(rows))
}
