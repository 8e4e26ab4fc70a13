package main

import (
	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/loop"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/uci"
)

// uciBatch is the most positions that one search evaluates at once.
const uciBatch = 256

// maxVisits bounds a search; its tree takes about a kilobyte a visit.
const maxVisits = 1_000_000

func newUCI() *cobra.Command {
	var file string
	var visits int
	var precision string
	c := &cobra.Command{
		Use:   "uci [RUN]",
		Short: "Play as a UCI engine, for a chess GUI",
		Long:  "Speaks UCI on standard input and output with the newest net of a run, or with --net FILE.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if visits < 1 || visits > maxVisits {
				return usagef("--visits %d: want 1 to %d", visits, maxVisits)
			}
			net, name, err := loop.FindNet(file, runArg(args))
			if err != nil {
				return pathError(err)
			}
			p, err := precisionOf(c, precision)
			if err != nil {
				return err
			}
			packed, err := cpu.New(net, p)
			if err != nil {
				return err
			}
			search := mcts.DefaultConfig()
			search.Simulations = visits
			engine := uci.Engine{
				Name:   "chessbrain " + version() + " " + name,
				Net:    packed.NewEvaluator(uciBatch),
				Search: search,
			}
			return engine.Serve(c.Context(), c.InOrStdin(), c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&file, "net", "", "play with this net file (safetensors or .pb.gz)")
	c.Flags().IntVar(&visits, "visits", 800, "visits of a plain go")
	bindPrecision(c, &precision)
	return c
}

// defaultRun is the run directory of a plain chessbrain train.
const defaultRun = "runs/chessbrain"

// runArg returns the run directory that the arguments name.
func runArg(args []string) string {
	if len(args) == 0 {
		return defaultRun
	}
	return args[0]
}
