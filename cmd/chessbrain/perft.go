package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/chess"
)

func newPerft() *cobra.Command {
	var depth int
	var fen string
	var divide bool
	c := &cobra.Command{
		Use:   "perft",
		Short: "Count the leaf positions of the legal-move tree",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if depth < 1 || depth > 20 {
				return usagef("--depth %d: want 1 to 20", depth)
			}
			board := chess.StartBoard()
			if fen != "" {
				var err error
				if board, err = chess.ParseFEN(fen); err != nil {
					return usageError{fmt.Errorf("--fen: %w", err)}
				}
			}
			out := c.OutOrStdout()
			began := time.Now()
			var nodes uint64
			if divide {
				notation960 := board.Castles960()
				for _, e := range chess.Divide(&board, depth) {
					fmt.Fprintf(out, "%s: %d\n", board.UCI(e.Move, notation960), e.Nodes)
					nodes += e.Nodes
				}
			} else {
				nodes = chess.Perft(&board, depth)
			}
			elapsed := time.Since(began)
			fmt.Fprintf(out, "%.1f Mnodes/s in %s\n", float64(nodes)/1e6/max(elapsed.Seconds(), 1e-9), elapsed.Round(time.Millisecond))
			fmt.Fprintf(out, "nodes %d\n", nodes)
			return nil
		},
	}
	c.Flags().IntVar(&depth, "depth", 5, "plies, 1 to 20")
	c.Flags().StringVar(&fen, "fen", "", "position (default: the start position); Shredder-FEN and X-FEN for Chess960")
	c.Flags().BoolVar(&divide, "divide", false, "show the count of each first move")
	return c
}
