package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/exam"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
)

// valuesOptions are the flags of exam values.
type valuesOptions struct {
	net, engine       string
	positions         int
	nodes             int
	theta             float64
	seed              uint64
	workers           int
	device, precision string
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
		Args: cobra.MaximumNArgs(1),
		RunE: stoppable(func(c *cobra.Command, args []string) error { return o.run(c, runArg(args)) }),
	}
	f := c.Flags()
	f.StringVar(&o.net, "net", "", tools.NetForms)
	f.StringVar(&o.engine, "engine", "stockfish", "UCI engine that judges")
	f.IntVar(&o.positions, "positions", 2000, "positions to draw")
	f.IntVar(&o.nodes, "nodes", 5000, "nodes of the engine for each")
	f.Float64Var(&o.theta, "theta", 0.8, "of the short-term target that is shown")
	f.Uint64Var(&o.seed, "seed", 1, "of the draw")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "processes of the engine")
	bindJSON(c, "one JSON object")
	bindPlayDevice(c, &o.device, "auto", &o.precision)
	return c
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

// run draws the positions and holds the values against the engine's.
func (o *valuesOptions) run(c *cobra.Command, root string) error {
	if err := cmp.Or(between("positions", o.positions, 10, 1e6), between("nodes", o.nodes, 1, 1e9), between("workers", o.workers, 1, 1024)); err != nil {
		return err
	}
	if !(o.theta >= 0 && o.theta <= 1) {
		return usagef("--theta %v: want 0 to 1", o.theta)
	}
	device, err := playDevice(c, o.device, o.precision)
	if err != nil {
		return err
	}
	net, err := openNet(cmp.Or(o.net, root))
	if err != nil {
		return err
	}
	engine, err := uci.FindEngine(o.engine)
	if err != nil {
		return usagef("--engine: %w", err)
	}
	ctx := c.Context()
	drawn, err := setup.DrawPositions(ctx, root, o.positions, o.seed)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return usageError{err}
	}
	rows, err := setup.RowsOf(drawn, o.theta)
	if err != nil {
		return err
	}
	lines, err := linesOf(drawn)
	if err != nil {
		return err
	}
	values, err := netValues(ctx, device, net, lines)
	if err != nil {
		return err
	}
	positions, material := make([]uci.Position, len(drawn)), make([]float64, len(drawn))
	for i, line := range lines {
		positions[i].Start = *line.At(0)
		for k := range line.Len() - 1 {
			positions[i].Moves = append(positions[i].Moves, line.MoveAt(k))
		}
		material[i] = float64(line.Board().MaterialBalance())
	}
	scores, err := exam.Judge(ctx, engine, positions, int64(o.nodes), o.workers)
	if err != nil {
		return err
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

// linesOf plays each game up to its drawn position.
func linesOf(drawn []setup.Position) ([]*chess.History, error) {
	lines := make([]*chess.History, len(drawn))
	for i, p := range drawn {
		start, err := p.Game.StartBoard()
		if err != nil {
			return nil, err
		}
		lines[i] = chess.NewHistory(start)
		for k := range p.Ply {
			lines[i].Push(p.Game.Plies[k].Move)
		}
	}
	return lines, nil
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
