package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/loop/tools"
)

func newOverfit() *cobra.Command {
	var (
		subject subjectFlags
		data    string
		asJSON  bool
		opt     tools.OverfitOptions
	)
	c := &cobra.Command{
		Use:   "overfit --config FILE [--data DATA]",
		Short: "Learn one batch by heart, to check a net with its losses and optimizer",
		Long: `Trains on one fixed batch until the loss is near the least that it can be: the
entropy of the targets; each single loss must lose half of its own excess, too. Prints
the curve; exit code 1 means that the batch was not
learnt, and so that net, losses, optimizer and learning rate do not work together.

The rows are different positions of --data, as training draws them; without data,
positions of random play with made-up targets. L2, warm-up and averaging are left
out, and nothing is saved. Losses are those of the batch's own batch-norm statistics.`,
		Example: "  chessbrain overfit --config run.textproto --data runs/a --rows 32 --steps 500",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := opt.Validate(); err != nil {
				return err
			}
			ctx, stop := stoppable(c)
			defer stop()
			s, err := subject.open(c, true)
			if err != nil {
				return err
			}
			var rows *tools.Rows
			if data != "" {
				if rows, err = openRows(ctx, c, s, data); err != nil {
					return err
				}
				defer closeAfter(&err, rows)
			}
			out := c.OutOrStdout()
			show := func(p tools.OverfitPoint) error {
				_, err := fmt.Fprintf(out, "step %5d  loss %.4f  over the floor %.4f%s\n", p.Step, float64(p.Loss), float64(p.Excess), lossText(p.Losses))
				return err
			}
			if asJSON {
				show = nil
			}
			r, err := tools.Overfit(ctx, s, rows, opt, show)
			if err != nil && !errors.Is(err, tools.ErrNotLearnt) {
				return err
			}
			if asJSON {
				err = errors.Join(err, json.NewEncoder(out).Encode(r))
			} else if err == nil {
				_, err = fmt.Fprintf(out, "learnt: %d rows of %s in %d steps at lr %g; entropy floor %.4f, policy accuracy %.3f, value accuracy %.3f\n",
					r.Rows, r.Data, r.Curve[len(r.Curve)-1].Step, r.LR, float64(r.Floor), float64(r.PolicyAccuracy), float64(r.ValueAccuracy))
			}
			if err != nil {
				return err
			}
			return leftOut(rows)
		},
	}
	subject.bindConfig(c)
	subject.bindRun(c)
	subject.bindNet(c)
	f := c.Flags()
	f.StringVar(&data, "data", "", dataHelp+"; empty = made-up rows")
	f.IntVar(&opt.Rows, "rows", 32, "rows of the batch")
	f.IntVar(&opt.Steps, "steps", 1000, "steps at most")
	f.Float64Var(&opt.LR, "lr", 0, "constant learning rate; 0 = the first of the configuration")
	f.Float64Var(&opt.Near, "near", 0.05, "share of the first excess over the floor at which the batch is learnt")
	f.IntVar(&opt.Every, "every", 10, "steps between two lines of the curve")
	f.BoolVar(&asJSON, "json", false, "one JSON object instead of lines")
	return c
}
