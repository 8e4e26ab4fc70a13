package exam

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// Count is a number of right answers among those asked.
type Count struct {
	Right int `json:"right"`
	Asked int `json:"asked"`
}

// Interval is the 95 % interval of the share that was right (Wilson's).
func (c *Count) Interval() (low, high float64) {
	const z = 1.96
	n, share := float64(c.Asked), float64(c.Right)/float64(c.Asked)
	middle, half := share+z*z/(2*n), z*math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	return (middle - half) / (1 + z*z/n), (middle + half) / (1 + z*z/n)
}

func (c *Count) add(right bool) {
	c.Asked++
	if right {
		c.Right++
	}
}

// ValueReport says how often the value head is right on a set: its largest
// probability among win, draw and loss is the solver's result.
type ValueReport struct {
	Net       Count            `json:"value"`
	NotWalked Count            `json:"value_not_walked"` // of Net: questions that no game went through (Walked)
	Rule      Count            `json:"rule"`             // answers of the rule "the stronger side wins"
	ByEnding  map[string]Count `json:"value_by_ending"`
	Confusion [3][3]int        `json:"truth_by_answer"` // [truth][answer], each win, draw, loss
}

// Values asks the net for the win, draw and loss probabilities of each position,
// without search and without history.
func Values(ctx context.Context, net mcts.Evaluator, set []Question) (*ValueReport, error) {
	r := &ValueReport{ByEnding: map[string]Count{}}
	for _, p := range Pieces {
		r.ByEnding[endings[p]] = Count{}
	}
	lines := make([]*chess.History, len(set))
	for i, q := range set {
		lines[i] = chess.NewHistory(q.Board)
	}
	answers, err := Ask(ctx, net, lines)
	if err != nil {
		return nil, fmt.Errorf("evaluate held-out positions: %w", err)
	}
	for i, q := range set {
		r.add(q, answers[i])
	}
	return r, nil
}

// Ask returns what the net says of the end of each line, without search: win, draw and
// loss of the side to move.
func Ask(ctx context.Context, net mcts.Evaluator, lines []*chess.History) (answers [][3]float32, err error) {
	batch := mcts.NewBatch(net, MaxBatch)
	var legal chess.MoveList
	for part := range slices.Chunk(lines, MaxBatch) {
		batch.Reset()
		for _, line := range part {
			if line.Board().GenerateMoves(&legal); legal.N == 0 {
				return nil, fmt.Errorf("%s: a position of a game has no legal move", line.Board().FEN())
			}
			encoding.AppendPosition(batch, line, &legal)
		}
		if err := net.Evaluate(ctx, batch); err != nil {
			return nil, err
		}
		answers = append(answers, batch.WDL[:batch.N]...)
	}
	return answers, nil
}

// add counts one answer. Of equal probabilities the first of win, draw and loss
// is the answer.
func (r *ValueReport) add(q Question, wdl [3]float32) {
	answer := 0
	for k := range wdl {
		if wdl[k] > wdl[answer] {
			answer = k
		}
	}
	truth := 1 - q.WDL
	r.Confusion[truth][answer]++
	r.Net.add(answer == truth)
	if !q.Walked {
		r.NotWalked.add(answer == truth)
	}
	r.Rule.add(q.Strong == (q.WDL == 1) && q.WDL != 0)
	ending := r.ByEnding[endings[q.Piece]]
	ending.add(answer == truth)
	r.ByEnding[endings[q.Piece]] = ending
}
