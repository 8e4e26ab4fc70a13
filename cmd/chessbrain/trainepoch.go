package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/run/tools"
)

// epochOptions are the flags of train-epoch.
type epochOptions struct {
	subject subjectFlags
	data    string
	json    bool
	tools.EpochOptions
}

func newTrainEpoch() *cobra.Command {
	var o epochOptions
	c := &cobra.Command{
		Use:   "train-epoch --run-dir RUN | --config FILE --data DATA",
		Short: "Train once over data without saving anything, and say how fast it was",
		Long: `Trains on every row once, in a drawn order, and prints losses, steps/s and rows/s.
Nothing is saved: it is for measuring. A run's newest checkpoint goes on with its
moments and its place in the learning-rate schedule; --config alone begins with a
fresh net, --net with another one.`,
		Example: "  chessbrain train-epoch --run-dir runs/a --data runs/a --steps 500",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.subject.bindConfig(c)
	o.subject.bindRun(c)
	o.subject.bindNet(c)
	f := c.Flags()
	f.StringVar(&o.data, "data", "", dataHelp)
	f.IntVar(&o.Steps, "steps", 0, "steps at most; 0 = all data once")
	f.IntVar(&o.Every, "every", 50, "steps between two lines")
	f.BoolVar(&o.json, "json", false, "one JSON object at the end instead of lines")
	return c
}

func (o *epochOptions) run(c *cobra.Command) (err error) {
	if o.Steps < 0 || o.Every < 1 {
		return usagef("--steps %d, --every %d: want 0 or more, and 1 or more", o.Steps, o.Every)
	}
	ctx, stop := stoppable(c)
	defer stop()
	s, rows, err := o.subject.openWith(ctx, c, true, o.data)
	if err != nil {
		return err
	}
	defer closeAfter(&err, rows)
	out := c.OutOrStdout()
	var show func(tools.EpochPoint) error
	if !o.json {
		show = func(p tools.EpochPoint) error {
			_, err := fmt.Fprintf(out, "step %6d  rows %8d  lr %.3g  loss %.4f%s  %.0f rows/s\n",
				p.Step, p.Rows, p.LR, float64(p.Loss), tools.LossText(p.Losses), float64(p.PerSec))
			return err
		}
	}
	r, err := tools.TrainEpoch(ctx, s, rows, o.EpochOptions, show)
	if err != nil {
		return orStopped(ctx, err)
	}
	return cmp.Or(answer(c, o.json, r), leftOut(rows))
}
