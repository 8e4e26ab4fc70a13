package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/exam"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/loop"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
)

func newExam() *cobra.Command {
	c := &cobra.Command{
		Use:   "exam",
		Short: "Train on and examine three-men endings, whose exact values are known",
	}
	c.AddCommand(newExamStarts(), newExamMeasure())
	return c
}

func newExamStarts() *cobra.Command {
	var count int
	var seed uint64
	var output string
	c := &cobra.Command{
		Use:   "starts",
		Short: "Write start positions for self-play (KQK, KRK, KPK; none of the held-out ones)",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if count < 3 {
				return usagef("--count %d: want at least 3", count)
			}
			write := func(w io.Writer) error {
				for _, fen := range exam.Solve().Starts(count, seed) {
					if _, err := fmt.Fprintln(w, fen); err != nil {
						return err
					}
				}
				return nil
			}
			if output == "" {
				return write(c.OutOrStdout())
			}
			return fsx.WriteFileFunc(fsx.OS, output, write)
		},
	}
	c.Flags().IntVar(&count, "count", 30000, "positions, a third from each ending")
	c.Flags().Uint64Var(&seed, "seed", 1, "of the choice")
	c.Flags().StringVarP(&output, "output", "o", "", "file (default: standard output)")
	return c
}

// examOptions are the flags of exam measure.
type examOptions struct {
	net       string
	visits    int
	moves     int
	questions int
	mates     int
	seed      uint64
	untrained bool
}

func newExamMeasure() *cobra.Command {
	var o examOptions
	c := &cobra.Command{
		Use:   "measure [RUN]",
		Short: "Ask a net about held-out endings and let it mate the solver's longest defence",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			net, name, err := loop.FindNet(o.net, runArg(args))
			if err != nil {
				return usageError{err}
			}
			out := c.OutOrStdout()
			tables := exam.Solve()
			if err := measure(c, out, tables, name, net, o); err != nil {
				return err
			}
			if o.untrained {
				return measure(c, out, tables, "untrained", nn.Init(net.Arch, o.seed), o)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&o.net, "net", "", "examine this .safetensors file")
	f.IntVar(&o.visits, "visits", 100, "visits of each move of the attacker")
	f.IntVar(&o.moves, "moves", 50, "moves within which the mate must come")
	f.IntVar(&o.questions, "questions", 1200, "held-out positions for the value head")
	f.IntVar(&o.mates, "mates", 200, "won positions of each ending to play out")
	f.Uint64Var(&o.seed, "seed", 1, "of the choice of positions")
	f.BoolVar(&o.untrained, "untrained", true, "examine an untrained net of the same form too")
	return c
}

// measure examines one net and prints what it found.
func measure(c *cobra.Command, out io.Writer, tables exam.Tables, name string, net *nn.Net, o examOptions) error {
	packed, err := cpu.New(net)
	if err != nil {
		return err
	}
	evaluator := packed.NewEvaluator(256)
	values, err := exam.Values(c.Context(), evaluator, tables.HeldOutSet(o.questions, o.seed))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n  value head: %.1f %% of %d held-out positions right; the rule \"stronger side wins\": %.1f %%\n",
		name, 100*values.Share(), values.Questions, 100*values.RuleShare())
	fmt.Fprintf(out, "  truth x answer (win draw loss): %v\n", values.Confusion)
	search := mcts.DefaultConfig()
	search.Simulations = o.visits
	for _, ending := range []struct {
		name  string
		piece chess.PieceType
	}{{"KQK", chess.Queen}, {"KRK", chess.Rook}, {"KPK", chess.Pawn}} {
		right := values.ByPiece[ending.piece]
		began := time.Now()
		mates, err := tables.Mates(c.Context(), evaluator, ending.piece, o.mates, exam.MateOptions{Search: search, Moves: o.moves, Seed: o.seed})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  %s: value %.1f %% of %d; %d of %d won positions mated within %d moves (%.1f %%)\n", ending.name,
			100*float64(right[0])/float64(right[1]), right[1], mates.Mated, mates.Played, o.moves, 100*mates.Share())
		fmt.Fprintf(os.Stderr, "chessbrain: %s played in %s\n", ending.name, time.Since(began).Round(time.Millisecond))
	}
	return nil
}
