package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/exam"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
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
	var staged bool
	c := &cobra.Command{
		Use:   "starts",
		Short: "Write start positions for self-play (KQK, KRK, KPK; none of the held-out ones)",
		Long: `Writes start positions as FENs, one a line, for train --openings. With --staged
they are a course, to be played in their order (--openings-order sequential): from
mates in one to farther and farther away.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if count < 3 || count > 1e6 {
				return usagef("--count %d: want 3 to 1000000", count)
			}
			write := func(w io.Writer) error {
				starts := exam.Solve().Starts
				if staged {
					starts = exam.Solve().StagedStarts
				}
				for _, fen := range starts(count, seed) {
					if _, err := fmt.Fprintln(w, fen); err != nil {
						return err
					}
				}
				return nil
			}
			if output == "" {
				return write(c.OutOrStdout())
			}
			if _, err := os.Stat(filepath.Dir(output)); err != nil {
				return pathError(fmt.Errorf("--output: %w", err))
			}
			return pathError(fsx.WriteFileFunc(fsx.OS, output, write))
		},
	}
	c.Flags().IntVar(&count, "count", 30000, "positions, a third from each ending")
	c.Flags().Uint64Var(&seed, "seed", 1, "of the choice")
	c.Flags().BoolVar(&staged, "staged", false, "a course from mates in one to the longest")
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
	json      bool
	device    string
	precision string
	players   *config.Config // what device and precision mean here
}

// validate says which flag is out of range.
func (o *examOptions) validate() error {
	for _, f := range []struct {
		name      string
		value     int
		low, high int
	}{
		{"visits", o.visits, 1, 1e6}, {"moves", o.moves, 1, 1000}, {"questions", o.questions, 24, 1e5}, {"mates", o.mates, 1, 1e5},
	} {
		if f.value < f.low || f.value > f.high {
			return usagef("--%s %d: want %d to %d", f.name, f.value, f.low, f.high)
		}
	}
	return nil
}

func newExamMeasure() *cobra.Command {
	var o examOptions
	c := &cobra.Command{
		Use:   "measure [RUN]",
		Short: "Ask a net about held-out endings and let it mate the solver's longest defence",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			var err error
			if o.players, err = playDevice(c, o.device, o.precision); err != nil {
				return err
			}
			net, name, err := setup.FindNet(o.net, runArg(args))
			if err != nil {
				return pathError(err)
			}
			nets := []examined{{name: name, net: net}}
			if o.untrained {
				nets = append(nets, examined{name: "untrained", net: nn.Init(net.Arch, o.seed)})
			}
			return measure(c, nets, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.net, "net", "", "examine this .safetensors file")
	f.IntVar(&o.visits, "visits", 100, "visits of each move of the attacker")
	f.IntVar(&o.moves, "moves", 50, "moves within which the mate must come")
	f.IntVar(&o.questions, "questions", 1200, "held-out positions for the value head")
	f.IntVar(&o.mates, "mates", 200, "won positions of each ending to play out")
	f.Uint64Var(&o.seed, "seed", 1, "of the choice of positions, and of the untrained net")
	f.BoolVar(&o.untrained, "untrained", true, "examine an untrained net of the same form too")
	f.BoolVar(&o.json, "json", false, "one JSON object a net")
	bindPlayDevice(c, &o.device, "auto", &o.precision)
	return c
}

// examBatch is the most positions that are evaluated at once.
const examBatch = 256

// endings names the exam's endings.
var endings = []struct {
	name  string
	piece chess.PieceType
}{{"KQK", chess.Queen}, {"KRK", chess.Rook}, {"KPK", chess.Pawn}}

// examined is a net and what it can do.
type examined struct {
	name   string
	net    *nn.Net
	values *exam.ValueReport
	mates  map[chess.PieceType]*exam.MateReport
}

// measure examines the nets and prints what it found.
func measure(c *cobra.Command, nets []examined, o examOptions) error {
	tables := exam.Solve()
	set := tables.HeldOutSet(o.questions, o.seed)
	for i := range nets {
		fmt.Fprintf(c.ErrOrStderr(), "chessbrain: examining %s\n", nets[i].name)
		if err := nets[i].examine(c.Context(), tables, set, o); err != nil {
			return err
		}
	}
	if !o.json {
		return writeExam(c.OutOrStdout(), nets, o)
	}
	for i := range nets {
		if err := json.NewEncoder(c.OutOrStdout()).Encode(nets[i].object(o)); err != nil {
			return err
		}
	}
	return nil
}

// examine fills in what the net can do. The endings are played beside each other,
// each with an evaluator of its own; those of a GPU are one.
func (e *examined) examine(ctx context.Context, tables exam.Tables, set []exam.Question, o examOptions) (err error) {
	player, err := setup.OpenNetPlayer(o.players, e.net)
	if err != nil {
		return err
	}
	defer closeAfter(&err, player)
	if e.values, err = exam.Values(ctx, player.NewEvaluator(examBatch), set); err != nil {
		return err
	}
	search := mcts.DefaultConfig()
	search.Simulations = o.visits
	reports := make([]*exam.MateReport, len(endings))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, ending := range endings {
		group.Go(func() (err error) {
			options := exam.MateOptions{Search: search, Moves: o.moves, Seed: o.seed}
			reports[i], err = tables.Mates(ctx, player.NewEvaluator(examBatch), ending.piece, o.mates, options)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	e.mates = map[chess.PieceType]*exam.MateReport{}
	for i, ending := range endings {
		e.mates[ending.piece] = reports[i]
	}
	return nil
}

// object is the JSON form.
func (e *examined) object(o examOptions) any {
	value, mates := map[string]exam.Count{}, map[string]*exam.MateReport{}
	for _, ending := range endings {
		value[ending.name], mates[ending.name] = e.values.ByPiece[ending.piece], e.mates[ending.piece]
	}
	device, precision := setup.DescribePlayers(o.players)
	return struct {
		Net       string                      `json:"net"`
		NetID     string                      `json:"net_id"`
		Seed      uint64                      `json:"seed"`
		Visits    int                         `json:"visits"`
		Moves     int                         `json:"moves"`
		Device    string                      `json:"device"`
		Precision string                      `json:"precision"`
		Value     exam.Count                  `json:"value"`
		Rule      exam.Count                  `json:"rule"`
		ByEnding  map[string]exam.Count       `json:"value_by_ending"`
		Confusion [3][3]int                   `json:"truth_by_answer"` // win, draw, loss
		Mates     map[string]*exam.MateReport `json:"mates"`
	}{e.name, e.net.ID(), o.seed, o.visits, o.moves, device, precision, e.values.Net, e.values.Rule, value, e.values.Confusion, mates}
}

// writeExam prints one table of all nets.
func writeExam(out io.Writer, nets []examined, o examOptions) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	row := func(name string, cell func(*examined) string, last string) {
		fmt.Fprintf(w, "%s\t", name)
		for i := range nets {
			fmt.Fprintf(w, "%s\t", cell(&nets[i]))
		}
		fmt.Fprintln(w, last)
	}
	count := func(c exam.Count) string { return percent(c.Right, c.Asked) }
	fmt.Fprintf(out, "Value head on %d held-out positions, and won positions mated by %d visits a move\nwithin %d moves against the longest defence:\n\n",
		nets[0].values.Net.Asked, o.visits, o.moves)
	row("", func(e *examined) string { return e.name }, "stronger side wins")
	row("value", func(e *examined) string { return count(e.values.Net) }, count(nets[0].values.Rule))
	for _, ending := range endings {
		row(ending.name+" value", func(e *examined) string { return count(e.values.ByPiece[ending.piece]) }, "")
	}
	for _, ending := range endings {
		row(ending.name+" mated", func(e *examined) string {
			return percent(e.mates[ending.piece].Mated, e.mates[ending.piece].Played)
		}, "")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range nets {
		fmt.Fprintf(out, "\n%s, truth x answer (win draw loss): %v\n", nets[i].name, nets[i].values.Confusion)
	}
	return nil
}

// percent writes part of whole as "83.1 % of 1200".
func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %% of %d", 100*float64(part)/float64(whole), whole)
}
