package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/run/setup"
)

// maxComparePositions bounds the memory of a comparison.
const maxComparePositions = 100_000

func newBenchPrecision() *cobra.Command {
	var file string
	var positions int
	var seed uint64
	var asJSON bool
	c := &cobra.Command{
		Use:   "precision [RUN]",
		Short: "Compare a trained net's answers in bf16 with those in fp32",
		Long: `Evaluates the same positions in fp32 and in bf16 and says how far the answers are
apart. With RUN the positions are drawn from the games of that run directory, and
the net is its newest unless --net-file names one; without, they come from random
legal play. Accepted is a net whose best move is the same in 99 % of the positions
with a choice, and whose value (W-L) differs by 0.005 at most in the mean.`,
		Example: "  chessbrain bench precision runs/first\n  chessbrain bench precision --net-file runs/first/models/NET.safetensors",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if positions < 1 || positions > maxComparePositions {
				return usagef("--positions %d: want 1 to %d", positions, maxComparePositions)
			}
			if len(args) == 0 && file == "" {
				return usagef("want a run directory, or a net with --net-file")
			}
			net, name, err := setup.FindNet(file, runArg(args))
			if err != nil {
				return pathError(err)
			}
			b, from := bench.PositionBatch(positions, seed), "random legal play"
			if len(args) > 0 {
				if b, err = setup.Positions(c.Context(), args[0], positions, seed); err != nil {
					return usageError{err}
				}
				from = "games of " + args[0]
			}
			r, err := bench.ComparePrecisions(net, b)
			if err != nil {
				return asUsage(err)
			}
			return answerf(c, asJSON, r, "%s", r.Text(name, from))
		},
	}
	c.Flags().StringVar(&file, "net-file", "", "compare this .safetensors file")
	c.Flags().IntVar(&positions, "positions", 20000, fmt.Sprintf("how many, 1 to %d", maxComparePositions))
	c.Flags().Uint64Var(&seed, "seed", 1, "of the choice of positions")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}
