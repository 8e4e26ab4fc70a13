package main

import (
	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/replay/chunks"
)

func newPositionWeights() *cobra.Command {
	var asJSON bool
	f := chance.Focus{QWeight: 6, PolicyScale: 3.5, Alpha: 1, Beta: 0.5, Gamma: 1, Tau: 1}
	c := &cobra.Command{
		Use:   "position-weights FILE|DIR...",
		Short: "Show how diff focus would weigh the positions of games or Leela chunks",
		Long: `Reads Leela's chunks (*.gz, *.tar) and our own *.games, in files or directories, and
shows how far the search moved from the raw network in the positions to train on,
and the weights that diff focus gives them (position_weight of the data loader, the
sampler diff-focus):

  min(((q_weight*|best_q - orig_q| + kld) / (q_weight + pol_scale) * alpha + beta)^gamma, tau)

For each tenth of the weights' range: how many positions have such a weight, and what
share of the rows is drawn from them. What is damaged is named and left out, and the
exit code is 3.`,
		Example: "  chessbrain position-weights training.tar --beta 0.1 --tau 2",
		Args:    someFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.Check(); err != nil {
				return usageError{err}
			}
			w := chunks.NewWeights(f)
			return reportGames(c, args, asJSON, w.Add, func() printed { r := w.Report(); return &r })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	c.Flags().Float64Var(&f.QWeight, "q-weight", f.QWeight, "weight of the difference of Q")
	c.Flags().Float64Var(&f.PolicyScale, "pol-scale", f.PolicyScale, "scale of the policy's difference")
	c.Flags().Float64Var(&f.Alpha, "alpha", f.Alpha, "factor")
	c.Flags().Float64Var(&f.Beta, "beta", f.Beta, "what every position has, above 0")
	c.Flags().Float64Var(&f.Gamma, "gamma", f.Gamma, "power")
	c.Flags().Float64Var(&f.Tau, "tau", f.Tau, "largest weight, above 0")
	return c
}
