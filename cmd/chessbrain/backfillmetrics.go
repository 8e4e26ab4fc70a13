package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/tools"
)

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
	out := c.OutOrStdout()
	if !wantsJSON(c) {
		o.Show = func(e *monitor.Validation) error {
			_, err := fmt.Fprintf(out, "step %d  %s weights  %d rows%s\n", e.Step, e.Weights, e.Rows, tools.LossText(e.Losses))
			return err
		}
	}
	r, err := tools.Backfill(c.Context(), o.BackfillOptions)
	if errors.Is(err, context.Canceled) {
		return interruptedf("interrupted; what was measured is written, and the same command goes on")
	}
	if err != nil {
		return pathError(err)
	}
	for _, p := range r.Problems {
		tell(c)("left out: %v", p)
	}
	err = answerf(c, r, "%s: %s written, %d there before -> %s\n", monitor.Count(r.Checkpoints, "checkpoint"), monitor.Count(r.Written, "event"), r.There, r.Out)
	if err == nil && len(r.Problems) > 0 {
		err = corruptf("%d things could not be read; the rest was measured", len(r.Problems))
	}
	return err
}
