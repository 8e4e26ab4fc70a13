package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run/tools"
)

func newProbe() *cobra.Command {
	var spec, position, device string
	var asJSON bool
	c := &cobra.Command{
		Use:   "probe --net NET --position POSITION",
		Short: "Show what a net says of a position: value, moves left, policy",
		Long: `Asks a net about one position, in fp32 and without a search: V = W - L in [-1,1], the
probabilities of win, draw and loss, the plies left (M), and each legal move with
its policy index (0..1857) and probability. All from the side to move's view;
moves in UCI notation.

NET is ` + tools.NetForms + `.
POSITION is what UCI's position command takes: startpos [moves ...] or fen FEN
[moves ...]. The moves are the history that the net sees.`,
		Example: `  chessbrain probe --net runs/chessbrain --position 'startpos moves e2e4 c7c5'
  chessbrain probe --net leela.pb.gz --position 'fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1' --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if spec == "" {
				return usagef("--net: name a net: %s", tools.NetForms)
			}
			history, err := uci.ParsePosition(strings.Fields(position))
			if err != nil {
				return usagef("--position: %w", err)
			}
			cfg, err := playDevice(c, device, kernel.FP32.String())
			if err != nil {
				return err
			}
			net, err := openNet(spec)
			if err != nil {
				return fmt.Errorf("--net: %w", err)
			}
			said, err := tools.Probe(c.Context(), cfg, net, history)
			if err != nil {
				return err
			}
			return answer(c, asJSON, said)
		},
	}
	f := c.Flags()
	f.StringVar(&spec, "net", "", "the net")
	f.StringVar(&position, "position", "startpos", "startpos or fen FEN, and moves")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	bindPlayDevice(c, &device, "cpu", nil)
	return c
}
