package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/loop/tools"
	"github.com/chessbrain/chessbrain/monitor"
)

func newBackfillMetrics() *cobra.Command {
	var (
		opt      tools.BackfillOptions
		dir, run string
		asJSON   bool
	)
	c := &cobra.Command{
		Use:   "backfill-metrics --checkpoints DIR | --run-dir RUN",
		Short: "Measure the losses of old checkpoints and write them as metrics",
		Long: `Measures the configured losses of every checkpoint that is still there, raw weights
and averages, on the same rows, and writes validation events with the checkpoints' own
steps and times: metrics.jsonl and a TensorBoard file. A second call adds only what is
missing. Change the losses of --config to get a metric that the run did not have.

The rows are the validation games of the newest checkpoint, or --data. The events go into
a directory of their own, metrics/<job>-backfill (a restart of the run would cut them off
its own files); TensorBoard shows it beside the run.`,
		Example: "  chessbrain backfill-metrics --run-dir runs/a --since 5000",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case (dir == "") == (run == ""):
				return usagef("%s: give --checkpoints or --run-dir", c.CommandPath())
			case opt.Rows < 0 || opt.Since < 0:
				return usagef("--rows %d, --since %d: want 0 or more", opt.Rows, opt.Since)
			}
			opt.Path = dir + run
			out := c.OutOrStdout()
			if !asJSON {
				opt.Show = func(e *monitor.Validation) error {
					_, err := fmt.Fprintf(out, "step %d  %s weights  %d rows%s\n", e.Step, e.Weights, e.Rows, lossText(e.Losses))
					return err
				}
			}
			ctx, stop := stoppable(c)
			defer stop()
			r, err := tools.Backfill(ctx, opt)
			if err != nil {
				return pathError(err)
			}
			for _, p := range r.Problems {
				fmt.Fprintln(c.ErrOrStderr(), "chessbrain: left out:", p)
			}
			if asJSON {
				err = json.NewEncoder(out).Encode(r)
			} else {
				_, err = fmt.Fprintf(out, "%d checkpoints: %d events written, %d were there -> %s\n", r.Checkpoints, r.Written, r.There, r.Out)
			}
			if err == nil && len(r.Problems) > 0 {
				err = corruptData{fmt.Errorf("%d things could not be read; the rest was measured", len(r.Problems))}
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "checkpoints", "", "directory of checkpoints")
	f.StringVar(&run, "run-dir", "", "run whose checkpoints are measured")
	f.StringVar(&opt.Config, "config", "", "configuration with the losses (default: that of the run)")
	f.StringVar(&opt.Data, "data", tools.Validation, "validation (held out by the run), a run or a directory of games, or a directory of shuffles")
	f.IntVar(&opt.Rows, "rows", 10000, "rows at most, evenly spread; 0 = all")
	f.Int64Var(&opt.Since, "since", 0, "leave out checkpoints of earlier steps")
	f.StringVar(&opt.Out, "out", "", "metrics directory for the events")
	f.BoolVar(&asJSON, "json", false, "print one JSON object at the end")
	return c
}
