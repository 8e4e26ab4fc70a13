package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/exam"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
)

func newExam() *cobra.Command {
	c := &cobra.Command{
		Use:   "exam",
		Short: "Examine a net: on three-men endings, whose values are known, and against an engine",
	}
	c.AddCommand(newExamStarts(), newExamMeasure(), newExamValues(), newExamHanging())
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
they are a course, to be played as far as the net masters it (--openings-order
mastery): from mates in one to farther and farther away.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := between("count", count, 3, 1e6); err != nil {
				return err
			}
			write := func(w io.Writer) error {
				tables := exam.Solve()
				starts := tables.Starts
				if staged {
					starts = tables.StagedStarts
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
			if err := canCreate("output", output); err != nil {
				return err
			}
			return pathError(fsx.WriteNamed(output, write))
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
	exam.Options
	net       string
	untrained bool
	device    string
	precision string
	players   *config.Config // what device and precision mean here
}

func newExamMeasure() *cobra.Command {
	var o examOptions
	c := &cobra.Command{
		Use:   "measure [RUN]",
		Short: "Ask a net about held-out endings and let it mate the solver's longest defence",
		Long: `Asks the value head of a run's net, or of --net, about endings that were no starts, and
lets the net play won ones out. Held-out positions are kept from the starts alone: games go
through some of them. Of a run's net it says how it answers those that no game went through.`,
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			err := cmp.Or(between("visits", o.Visits, 1, 1e6), between("moves", o.Moves, 1, 1000),
				between("questions", o.Questions, 24, 1e5), between("mates", o.Mates, 1, 1e5))
			if err != nil {
				return err
			}
			if o.players, err = playDevice(c, o.device, o.precision); err != nil {
				return err
			}
			net, err := openNet(cmp.Or(o.net, runArg(args)))
			if err != nil {
				return err
			}
			nets := []*tools.Net{net}
			if o.untrained {
				nets = append(nets, &tools.Net{Net: nn.Init(net.Arch, o.Seed), Name: "untrained", Meta: net.Meta})
			}
			walked := exam.Walked{}
			root, _, _ := strings.Cut(runArg(args), "@")
			if _, there, err := run.ReadRunInfo(root); o.net == "" && there && err == nil {
				tell(c)("reading the games of %s", root)
				if err := setup.EachBoard(c.Context(), root, walked.Add); err != nil {
					return pathError(err)
				}
			}
			return o.measure(c, nets, walked)
		},
	}
	f := c.Flags()
	f.StringVar(&o.net, "net", "", "examine this .safetensors file")
	f.IntVar(&o.Visits, "visits", 100, "visits of each move of the attacker")
	f.IntVar(&o.Moves, "moves", 50, "moves within which the mate must come")
	f.IntVar(&o.Questions, "questions", 1200, "held-out positions for the value head")
	f.IntVar(&o.Mates, "mates", 200, "won positions of each ending to play out")
	f.Uint64Var(&o.Seed, "seed", 1, "of the choice of positions, and of the untrained net")
	f.BoolVar(&o.untrained, "untrained", true, "examine an untrained net of the same form too")
	bindJSON(c, "one JSON object a net")
	bindPlayDevice(c, &o.device, "auto", &o.precision)
	return c
}

// measure examines the nets and prints what it found; walked is where games went.
func (o *examOptions) measure(c *cobra.Command, nets []*tools.Net, walked exam.Walked) error {
	tables := exam.Solve()
	set := tables.HeldOutSet(o.Questions, o.Seed)
	walked.Mark(set)
	var reports []*exam.Report
	for _, net := range nets {
		tell(c)("examining %s", net.Name)
		player, err := readyNet(o.players, net)
		if err != nil {
			return err
		}
		r, err := tables.Measure(c.Context(), net.Name, player.NewEvaluator, player.Search(), set, o.Options)
		if err := errors.Join(err, player.Close()); err != nil {
			return err
		}
		reports = append(reports, r)
	}
	if !wantsJSON(c) {
		return exam.Write(c.OutOrStdout(), reports, o.Options)
	}
	device, precision := setup.DescribePlayers(o.players)
	for i, r := range reports {
		if err := printJSON(c, struct {
			Net       string `json:"net"`
			NetID     string `json:"net_id"`
			Seed      uint64 `json:"seed"`
			Visits    int    `json:"visits"`
			Moves     int    `json:"moves"`
			Device    string `json:"device"`
			Precision string `json:"precision"`
			*exam.Report
		}{r.Name, nets[i].ID(), o.Seed, o.Visits, o.Moves, device, precision, r}); err != nil {
			return err
		}
	}
	return nil
}

// valuesOptions are the flags of exam values.
type valuesOptions struct {
	net, engine       string
	positions         int
	nodes             int
	theta             float64
	seed              uint64
	workers           int
	device, precision string
	players           *config.Config // what device and precision mean here
	examined          *tools.Net
}

func newExamValues() *cobra.Command {
	var o valuesOptions
	c := &cobra.Command{
		Use:   "values [RUN]",
		Short: "Correlate a net's values, and the run's targets, with an engine's judgement",
		Long: `Draws positions from the games of a run, has an engine judge them, and prints how well
the net's value (W-L), the material on the board and the values that the games recorded
agree with it: Pearson's correlation with its 95 % interval. It takes seconds, so that
targets and losses can be tried. The net is the run's newest, or --net.`,
		Example: `  chessbrain exam values runs/a
  chessbrain exam values runs/a --net runs/b@5000 --positions 10000`,
		Args: atMostOne,
		RunE: stoppable(func(c *cobra.Command, args []string) error { return o.run(c, runArg(args)) }),
	}
	o.bind(c, 2000, 5000)
	c.Flags().Float64Var(&o.theta, "theta", 0.8, "of the short-term target that is shown")
	return c
}

// bind registers what both exams on positions of a run's games have.
func (o *valuesOptions) bind(c *cobra.Command, positions, nodes int) {
	f := c.Flags()
	f.StringVar(&o.net, "net", "", tools.NetForms)
	f.StringVar(&o.engine, "engine", "stockfish", "UCI engine that judges")
	f.IntVar(&o.positions, "positions", positions, "positions to draw")
	f.IntVar(&o.nodes, "nodes", nodes, "nodes of the engine for each")
	f.Uint64Var(&o.seed, "seed", 1, "of the draw")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "processes of the engine")
	bindJSON(c, "one JSON object")
	bindPlayDevice(c, &o.device, "auto", &o.precision)
}

// valuesReport is what exam values prints.
type valuesReport struct {
	Run          string             `json:"run"`
	Net          string             `json:"net"`
	NetID        string             `json:"net_id"`
	Positions    int                `json:"positions"`
	Nodes        int                `json:"nodes"`
	Seed         uint64             `json:"seed"`
	Correlations []exam.Correlation `json:"correlations"`
}

// Write prints the correlations as a table.
func (r *valuesReport) Write(out io.Writer) error {
	fmt.Fprintf(out, "Correlation with an engine of %d nodes on %d positions of %s:\n\n", r.Nodes, r.Positions, r.Run)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, c := range r.Correlations {
		fmt.Fprintf(w, "%s\t%.3f\t(%.3f to %.3f)\t%d positions\n", c.Name, c.R, c.Low, c.High, c.N)
	}
	return w.Flush()
}

// draw checks the options, finds the net and the engine, and draws times as many positions
// of the run's games as are asked for.
func (o *valuesOptions) draw(c *cobra.Command, root string, times int) (drawn []setup.Position, err error) {
	err = cmp.Or(between("positions", o.positions, 10, 1e6), between("nodes", o.nodes, 1, 1e9), between("workers", o.workers, 1, 1024))
	if err == nil {
		o.players, err = playDevice(c, o.device, o.precision)
	}
	if err == nil {
		o.examined, err = openNet(cmp.Or(o.net, root))
	}
	if err != nil {
		return nil, err
	}
	if o.engine, err = uci.FindEngine(o.engine); err != nil {
		return nil, usagef("--engine: %w", err)
	}
	drawn, err = setup.DrawPositions(c.Context(), root, times*o.positions, o.seed)
	if err != nil {
		err = cmp.Or[error](c.Context().Err(), usageError{err})
	}
	return drawn, err
}

// run draws the positions and holds the values against the engine's.
func (o *valuesOptions) run(c *cobra.Command, root string) error {
	if !(o.theta >= 0 && o.theta <= 1) {
		return usagef("--theta %v: want 0 to 1", o.theta)
	}
	drawn, err := o.draw(c, root, 1)
	if err != nil {
		return err
	}
	ctx, net := c.Context(), o.examined
	rows, err := setup.RowsOf(drawn, o.theta)
	if err != nil {
		return err
	}
	lines := make([]*chess.History, len(drawn))
	for i, p := range drawn {
		if lines[i], err = lineOf(p); err != nil {
			return err
		}
	}
	values, err := netValues(ctx, o.players, net, lines)
	if err != nil {
		return err
	}
	answers, err := exam.Judge(ctx, o.engine, lines, int64(o.nodes), o.workers)
	if err != nil {
		return err
	}
	material, scores := make([]float64, len(drawn)), make([]float64, len(drawn))
	for i, line := range lines {
		material[i], scores[i] = float64(line.Board().MaterialBalance()), exam.ExpectedScore(&answers[i])
	}
	r := &valuesReport{Run: root, Net: net.Name, NetID: net.ID(), Positions: len(drawn), Nodes: o.nodes, Seed: o.seed,
		Correlations: []exam.Correlation{exam.Correlate(net.Name, values, scores), exam.Correlate("material on the board", material, scores)}}
	for _, t := range []struct {
		name   string
		target encoding.Target
	}{
		{"target: root value of the search", encoding.TargetRoot}, {"target: value of the best move", encoding.TargetBest},
		{fmt.Sprintf("target: short-term, theta %g", o.theta), encoding.TargetST}, {"target: result of the game", encoding.TargetResult},
	} {
		target := make([]float64, len(drawn))
		for i := range target {
			target[i] = float64(rows.Targets[i][t.target].Q)
		}
		r.Correlations = append(r.Correlations, exam.Correlate(t.name, target, scores))
	}
	return answer(c, r)
}

func newExamHanging() *cobra.Command {
	var o valuesOptions
	var visits int
	c := &cobra.Command{
		Use:   "hanging [RUN]",
		Short: "Count how often a net takes a piece that is free",
		Long: `Draws positions from the games of a run in which one piece, a minor one or more, can be
taken for nothing, an engine takes it, and says of the best other move that it costs a minor
piece (3 pawns) or more. It prints in how many of them the net takes it.
The net is the run's newest, or --net; it searches as it was trained.`,
		Example: "  chessbrain exam hanging runs/a\n  chessbrain exam hanging runs/a --net builtin --visits 400",
		Args:    atMostOne,
		RunE:    stoppable(func(c *cobra.Command, args []string) error { return o.hanging(c, runArg(args), visits) }),
	}
	o.bind(c, 500, 10_000)
	c.Flags().IntVar(&visits, "visits", 100, "visits of each search")
	return c
}

// hangingReport is what exam hanging prints.
type hangingReport struct {
	Run    string `json:"run"`
	Net    string `json:"net"`
	NetID  string `json:"net_id"`
	Visits int    `json:"visits"`
	Nodes  int    `json:"nodes"`
	Seed   uint64 `json:"seed"`
	exam.Count
}

// Write prints the share and its 95 % interval.
func (r *hangingReport) Write(out io.Writer) error {
	low, high := r.Interval()
	_, err := fmt.Fprintf(out, "%s with %d visits takes the free piece in %d of %d positions of %s: %.1f %% (%.1f to %.1f)\n",
		r.Net, r.Visits, r.Right, r.Asked, r.Run, 100*float64(r.Right)/float64(r.Asked), 100*low, 100*high)
	return err
}

// drawnFor is how many positions are drawn for each that is asked for: in games of
// beginners one in four has a free piece, in better ones fewer do.
const drawnFor = 50

// hanging finds the positions and has the net search them.
func (o *valuesOptions) hanging(c *cobra.Command, root string, visits int) (err error) {
	if err := between("visits", visits, 1, 1e6); err != nil {
		return err
	}
	drawn, err := o.draw(c, root, drawnFor)
	if err != nil {
		return err
	}
	ctx, net := c.Context(), o.examined
	rand.New(rand.NewPCG(o.seed, 1)).Shuffle(len(drawn), func(i, k int) { drawn[i], drawn[k] = drawn[k], drawn[i] })
	var lines []*chess.History
	var squares []chess.Square
	for _, p := range drawn {
		if len(lines) == 4*o.positions {
			break // the engine finds some half of them worth it
		}
		line, err := lineOf(p)
		if err != nil {
			return err
		}
		if at, ok := exam.FreePiece(line.Board()); ok && line.Terminal(1) == chess.NotOver {
			lines, squares = append(lines, line), append(squares, at)
		}
	}
	worth, err := exam.WorthTaking(ctx, o.engine, lines, squares, int64(o.nodes), o.workers)
	if err != nil {
		return err
	}
	n := 0
	for i := range worth {
		if n < o.positions && worth[i] {
			lines[n], squares[n] = lines[i], squares[i]
			n++
		}
	}
	if n == 0 {
		return fmt.Errorf("no free piece in %d positions of %s: play more games", len(drawn), root)
	}
	player, err := readyNet(o.players, net)
	if err != nil {
		return err
	}
	defer closeAfter(&err, player)
	search := player.Search().ForVisits(visits)
	r := &hangingReport{Run: root, Net: net.Name, NetID: net.ID(), Visits: visits, Nodes: o.nodes, Seed: o.seed}
	if r.Count, err = exam.Takes(ctx, player.NewEvaluator(exam.MaxBatch), search, lines[:n], squares[:n], o.seed); err != nil {
		return err
	}
	return answer(c, r)
}

// lineOf plays a game up to its drawn position.
func lineOf(p setup.Position) (*chess.History, error) {
	start, err := p.Game.StartBoard()
	if err != nil {
		return nil, err
	}
	line := chess.NewHistory(start)
	for k := range p.Ply {
		line.Push(p.Game.Plies[k].Move)
	}
	return line, nil
}

// netValues asks a net for W-L at the end of each line.
func netValues(ctx context.Context, device *config.Config, net *tools.Net, lines []*chess.History) (_ []float64, err error) {
	player, err := setup.OpenNetPlayer(device, net.Net)
	if err != nil {
		return nil, err
	}
	defer closeAfter(&err, player)
	evaluator, err := player.Evaluator(exam.MaxBatch)
	if err != nil {
		return nil, err
	}
	answers, err := exam.Ask(ctx, evaluator, lines)
	values := make([]float64, len(answers))
	for i, wdl := range answers {
		if values[i] = float64(wdl[0] - wdl[2]); math.IsNaN(values[i]) {
			return nil, fmt.Errorf("%s says a value that is no number", net.Name)
		}
	}
	return values, err
}
