package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor/report"
	"github.com/chessbrain/chessbrain/run/tools"
)

// tuneOptions are the flags of tune-lr.
type tuneOptions struct {
	subject   subjectFlags
	data      string
	out, plot string
	json      bool
	tools.RangeOptions
}

func newTuneLR() *cobra.Command {
	var o tuneOptions
	c := &cobra.Command{
		Use:   "tune-lr --config FILE --data DATA --out FILE.csv [--plot FILE.svg]",
		Short: "Train with a growing learning rate and say at which the loss falls fastest",
		Long: `Learning-rate range test: trains with a rate that grows exponentially from --from to
--to, until the loss diverges (4 times its best smoothed value, or not finite). Writes a
line a step as CSV, and suggests the rate at which the smoothed loss falls steepest over
the logarithm of the rate; the rate of the lowest loss is already too high for a long
training. Look at the picture: of small batches and few steps the curve is noise.

Rows are drawn as training draws them. The net is the one that the configuration begins
with, or --net, or that of --run-dir (its weights alone); nothing is saved, and no run is
touched. --from, --to and --steps replace learning rate, rules and warm-up.`,
		Example: "  chessbrain tune-lr --config run.textproto --data runs/a --out lr.csv --plot lr.svg",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.subject.bindConfig(c)
	o.subject.bindRun(c)
	o.subject.bindNet(c)
	f := c.Flags()
	f.StringVar(&o.data, "data", "", dataHelp)
	f.Float64Var(&o.From, "from", 1e-5, "first learning rate")
	f.Float64Var(&o.To, "to", 1, "last learning rate")
	f.IntVar(&o.Steps, "steps", 200, "steps from the first to the last")
	f.StringVar(&o.out, "out", "", "CSV file: step, lr, loss, smoothed_loss, grad_norm, and each loss")
	f.StringVar(&o.plot, "plot", "", "picture of loss over rate, .svg or .png")
	f.BoolVar(&o.json, "json", false, "print the suggestion as one JSON object")
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

func (o *tuneOptions) run(c *cobra.Command) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	ctx, stop := stoppable(c)
	defer stop()
	s, rows, err := o.subject.openWith(ctx, c, true, o.data)
	if err != nil {
		return err
	}
	defer closeAfter(&err, rows)
	r, err := tools.TuneLR(ctx, s, rows, o.RangeOptions)
	if err != nil {
		return orStopped(ctx, err)
	}
	if err := fsx.WriteFileFunc(fsx.OS, o.out, r.WriteCSV); err != nil {
		return pathError(fmt.Errorf("--out: %w", err))
	}
	if o.plot != "" && len(r.Points) > 0 {
		if err := r.Chart().Write(o.plot); err != nil {
			return pathError(err)
		}
	}
	return cmp.Or(answerf(c, o.json, r, "%s", r.Text(o.To, o.out)), leftOut(rows))
}
