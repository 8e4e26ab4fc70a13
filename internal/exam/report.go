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

// endings names the exam's endings.
var endings = []struct {
	name  string
	piece chess.PieceType
}{{"KQK", chess.Queen}, {"KRK", chess.Rook}, {"KPK", chess.Pawn}}

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
	Name   string
	Values *ValueReport
	Mates  map[chess.PieceType]*MateReport
}

// Measure asks a net the questions of set, and lets it play the endings beside each
// other, each with an evaluator of its own.
func (t Tables) Measure(ctx context.Context, name string, evaluator func(maxBatch int) mcts.Evaluator, set []Question, o Options) (*Report, error) {
	r := &Report{Name: name, Mates: map[chess.PieceType]*MateReport{}}
	var err error
	if r.Values, err = Values(ctx, evaluator(MaxBatch), set); err != nil {
		return nil, err
	}
	search := mcts.DefaultConfig()
	search.Simulations = o.Visits
	reports := make([]*MateReport, len(endings))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, ending := range endings {
		group.Go(func() (err error) {
			reports[i], err = t.Mates(ctx, evaluator(MaxBatch), ending.piece, o.Mates, MateOptions{Search: search, Moves: o.Moves, Seed: o.Seed})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, ending := range endings {
		r.Mates[ending.piece] = reports[i]
	}
	return r, nil
}

// Figures are a report as JSON.
type Figures struct {
	Value     Count                  `json:"value"`
	Rule      Count                  `json:"rule"`
	ByEnding  map[string]Count       `json:"value_by_ending"`
	Confusion [3][3]int              `json:"truth_by_answer"` // win, draw, loss
	Mates     map[string]*MateReport `json:"mates"`
}

// Figures names the endings.
func (r *Report) Figures() Figures {
	f := Figures{r.Values.Net, r.Values.Rule, map[string]Count{}, r.Values.Confusion, map[string]*MateReport{}}
	for _, ending := range endings {
		f.ByEnding[ending.name], f.Mates[ending.name] = r.Values.ByPiece[ending.piece], r.Mates[ending.piece]
	}
	return f
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
		nets[0].Values.Net.Asked, o.Visits, o.Moves)
	row("", func(e *Report) string { return e.Name }, "stronger side wins")
	row("value", func(e *Report) string { return count(e.Values.Net) }, count(nets[0].Values.Rule))
	for _, ending := range endings {
		row(ending.name+" value", func(e *Report) string { return count(e.Values.ByPiece[ending.piece]) }, "")
	}
	for _, ending := range endings {
		row(ending.name+" mated", func(e *Report) string {
			return percent(e.Mates[ending.piece].Mated, e.Mates[ending.piece].Played)
		}, "")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range nets {
		fmt.Fprintf(out, "\n%s, truth x answer (win draw loss): %v\n", nets[i].Name, nets[i].Values.Confusion)
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
