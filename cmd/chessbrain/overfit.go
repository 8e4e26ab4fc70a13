package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/run/tools"
)

// overfitOptions are the flags of overfit.
type overfitOptions struct {
	subject subjectFlags
	data    string
	json    bool
	tools.OverfitOptions
}

func newOverfit() *cobra.Command {
	var o overfitOptions
	c := &cobra.Command{
		Use:   "overfit --config FILE [--data DATA]",
		Short: "Learn one batch by heart, to check a net with its losses and optimizer",
		Long: `Trains on one fixed batch until the loss is near the least that it can be: the
entropy of the targets; each single loss must lose half of its own excess, too. Prints
the curve; exit code 1 means that the batch was not learnt, and so that net, losses,
optimizer and learning rate do not work together.

The rows are different positions of --data, as training draws them; without data,
positions of random play with made-up targets. L2, warm-up and averaging are left
out, and nothing is saved. Losses are those of the batch's own batch-norm statistics.`,
		Example: "  chessbrain overfit --config run.textproto --data runs/a --rows 32 --steps 1000",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.subject.bindConfig(c)
	o.subject.bindRun(c)
	o.subject.bindNet(c)
	f := c.Flags()
	f.StringVar(&o.data, "data", "", dataHelp+"; empty = made-up rows")
	f.IntVar(&o.Rows, "rows", 32, "rows of the batch")
	f.IntVar(&o.Steps, "steps", 1000, "steps at most")
	f.Float64Var(&o.LR, "lr", 0, "constant learning rate; 0 = the first of the configuration")
	f.Float64Var(&o.Near, "near", 0.05, "share of the first excess over the floor at which the batch is learnt")
	f.IntVar(&o.Every, "every", 10, "steps between two lines of the curve")
	f.BoolVar(&o.json, "json", false, "one JSON object instead of lines")
	return c
}

func (o *overfitOptions) run(c *cobra.Command) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	ctx, stop := stoppable(c)
	defer stop()
	s, err := o.subject.open(c, true)
	if err != nil {
		return err
	}
	var rows *tools.Rows
	if o.data != "" {
		if rows, err = openRows(ctx, c, s, o.data); err != nil {
			return orStopped(ctx, err)
		}
		defer closeAfter(&err, rows)
	}
	out := c.OutOrStdout()
	var show func(tools.OverfitPoint) error
	if !o.json {
		show = func(p tools.OverfitPoint) error {
			_, err := fmt.Fprintf(out, "step %5d  loss %.4f  over the floor %.4f%s\n", p.Step, float64(p.Loss), float64(p.Excess), tools.LossText(p.Losses))
			return err
		}
	}
	r, err := tools.Overfit(ctx, s, rows, o.OverfitOptions, show)
	if err != nil && !errors.Is(err, tools.ErrNotLearnt) {
		return orStopped(ctx, err)
	}
	if err := errors.Join(err, answer(c, o.json, r)); err != nil {
		return err
	}
	return leftOut(rows)
}
