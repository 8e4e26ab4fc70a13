package exam

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
)

// MaxBatch is the most positions that are evaluated at once.
const MaxBatch = 256

// endings names those of Pieces.
var endings = map[chess.PieceType]string{chess.Queen: "KQK", chess.Rook: "KRK", chess.Pawn: "KPK"}

// Options say how much a net is asked.
type Options struct {
	Visits    int // of each move of the attacker
	Moves     int // within which a mate must come
	Questions int // held-out positions for the value head
	Mates     int // won positions of each ending to play out
	Seed      uint64
}

// Report is a net and what it can do.
type Report struct {
	Name string `json:"-"`
	*ValueReport
	Mates map[string]*MateReport `json:"mates"` // by ending
}

// Measure asks a net the questions of set, and lets it play the endings beside each
// other, by search with the visits of the options, each with an evaluator of its own.
func (t Tables) Measure(ctx context.Context, name string, evaluator func(maxBatch int) mcts.Evaluator, search mcts.Config, set []Question, o Options) (*Report, error) {
	values, err := Values(ctx, evaluator(MaxBatch), set)
	if err != nil {
		return nil, err
	}
	search = search.ForVisits(o.Visits)
	reports := make([]*MateReport, len(Pieces))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, piece := range Pieces {
		group.Go(func() (err error) {
			reports[i], err = t.Mates(ctx, evaluator(MaxBatch), piece, o.Mates, MateOptions{Search: search, Moves: o.Moves, Seed: o.Seed})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	r := &Report{name, values, map[string]*MateReport{}}
	for i, piece := range Pieces {
		r.Mates[endings[piece]] = reports[i]
	}
	return r, nil
}

// Write prints one table of the reports of several nets, for a person.
func Write(out io.Writer, nets []*Report, o Options) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	row := func(name string, cell func(*Report) string, last string) {
		fmt.Fprintf(w, "%s\t", name)
		for i := range nets {
			fmt.Fprintf(w, "%s\t", cell(nets[i]))
		}
		fmt.Fprintln(w, last)
	}
	count := func(c Count) string { return percent(c.Right, c.Asked) }
	fmt.Fprintf(out, "Value head on %d held-out positions, and won positions mated by %d visits a move\nwithin %d moves against the longest defence:\n\n",
		nets[0].Net.Asked, o.Visits, o.Moves)
	row("", func(e *Report) string { return e.Name }, "stronger side wins")
	row("value", func(e *Report) string { return count(e.Net) }, count(nets[0].Rule))
	if nets[0].NotWalked.Asked < nets[0].Net.Asked {
		row("  never in a game", func(e *Report) string { return count(e.NotWalked) }, "")
	}
	for _, p := range Pieces {
		row(endings[p]+" value", func(e *Report) string { return count(e.ByEnding[endings[p]]) }, "")
	}
	for _, p := range Pieces {
		row(endings[p]+" mated", func(e *Report) string {
			return percent(e.Mates[endings[p]].Mated, e.Mates[endings[p]].Played)
		}, "")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range nets {
		fmt.Fprintf(out, "\n%s, truth x answer (win draw loss): %v\n", nets[i].Name, nets[i].Confusion)
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
