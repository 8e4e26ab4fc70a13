package chunks

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/record"
)

// StartPolicy averages the policy targets of the standard start position.
type StartPolicy struct {
	board  chess.Board
	legal  chess.MoveList
	sum    [chess.MaxMoves]float64
	sum2   [chess.MaxMoves]float64
	played [chess.MaxMoves]int
	games  int // counted
	others int // that begin elsewhere, or have no policy there
}

// NewStartPolicy returns an average of no games.
func NewStartPolicy() *StartPolicy {
	s := &StartPolicy{board: chess.StartBoard()}
	s.board.GenerateMoves(&s.legal)
	return s
}

// Add takes in a game.
func (s *StartPolicy) Add(g *Game) {
	if g.Rec.Start != "" || len(g.Rec.Plies) == 0 || g.Rec.Plies[0].Kind == record.PolicyNone {
		s.others++
		return
	}
	p := &g.Rec.Plies[0]
	total := float64(record.CountSum(p.Counts))
	for j := range s.legal.N {
		v := 0.0
		if p.Kind == record.PolicyProbs {
			v = float64(p.Probs[j])
		} else {
			v = float64(p.Counts[j]) / total
		}
		s.sum[j] += v
		s.sum2[j] += v * v
	}
	s.played[s.legal.Index(p.Move)]++
	s.games++
}

// StartMove is a move of the start position.
type StartMove struct {
	Move   string  `json:"move"`   // UCI
	Policy float64 `json:"policy"` // mean of the target
	Spread float64 `json:"spread"` // standard deviation between games
	Played float64 `json:"played"` // share of the games
}

// StartReport is what a StartPolicy came to.
type StartReport struct {
	Games   int         `json:"games"`
	Others  int         `json:"others"`  // games that begin elsewhere, or have no policy there
	Entropy float64     `json:"entropy"` // of the mean policy, in bits; uniform is 4.32
	Moves   []StartMove `json:"moves"`   // by falling policy
}

// Report sums up.
func (s *StartPolicy) Report() StartReport {
	r := StartReport{Games: s.games, Others: s.others}
	if s.games == 0 {
		return r
	}
	n := float64(s.games)
	for j, m := range s.legal.Slice() {
		mean := s.sum[j] / n
		r.Moves = append(r.Moves, StartMove{Move: s.board.UCI(m, false), Policy: mean,
			Spread: math.Sqrt(max(s.sum2[j]/n-mean*mean, 0)), Played: float64(s.played[j]) / n})
		if mean > 0 {
			r.Entropy -= mean * math.Log2(mean)
		}
	}
	slices.SortFunc(r.Moves, func(a, b StartMove) int {
		return cmp.Or(cmp.Compare(b.Policy, a.Policy), cmp.Compare(a.Move, b.Move))
	})
	return r
}

// Write prints a table.
func (r *StartReport) Write(out io.Writer) error {
	fmt.Fprintf(out, "%d games from the start position, %d others; entropy %.2f bits\n", r.Games, r.Others, r.Entropy)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "move\tpolicy\tspread\tplayed")
	for _, m := range r.Moves {
		fmt.Fprintf(w, "%s\t%.2f %%\t%.2f\t%.2f %%\n", m.Move, 100*m.Policy, 100*m.Spread, 100*m.Played)
	}
	return w.Flush()
}
