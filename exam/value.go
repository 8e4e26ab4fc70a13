package exam

import (
	"context"
	"fmt"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// ValueReport says how often the value head is right on a set.
type ValueReport struct {
	Questions int
	Right     int                         // argmax of win, draw, loss agrees with the solver
	Rule      int                         // right answers of the rule "the stronger side wins"
	Confusion [3][3]int                   // [truth][answer], each win, draw, loss
	ByPiece   map[chess.PieceType]*[2]int // right, asked
}

// Share returns the share of right answers.
func (r *ValueReport) Share() float64 { return float64(r.Right) / float64(r.Questions) }

// RuleShare returns the share of right answers of the rule.
func (r *ValueReport) RuleShare() float64 { return float64(r.Rule) / float64(r.Questions) }

// Values asks the net for the win, draw and loss probabilities of each position,
// without search and without history.
func Values(ctx context.Context, net mcts.Evaluator, set []Question) (*ValueReport, error) {
	r := &ValueReport{Questions: len(set), ByPiece: map[chess.PieceType]*[2]int{}}
	const group = 64
	batch := encoding.NewBatch(group)
	var list chess.MoveList
	for from := 0; from < len(set); from += group {
		part := set[from:min(from+group, len(set))]
		batch.Reset()
		for i := range part {
			part[i].Board.GenerateMoves(&list)
			encoding.AppendPosition(batch, chess.NewHistory(part[i].Board), &list)
		}
		if err := net.Evaluate(ctx, batch); err != nil {
			return nil, fmt.Errorf("evaluate held-out positions: %w", err)
		}
		for i, q := range part {
			r.add(q, batch.WDL[i])
		}
	}
	return r, nil
}

// add counts one answer.
func (r *ValueReport) add(q Question, wdl [3]float32) {
	answer := 0
	for k := range wdl {
		if wdl[k] > wdl[answer] {
			answer = k
		}
	}
	truth := 1 - q.WDL
	r.Confusion[truth][answer]++
	if r.ByPiece[q.Piece] == nil {
		r.ByPiece[q.Piece] = new([2]int)
	}
	r.ByPiece[q.Piece][1]++
	if answer == truth {
		r.Right++
		r.ByPiece[q.Piece][0]++
	}
	if (q.Strong && q.WDL == 1) || (!q.Strong && q.WDL == -1) {
		r.Rule++
	}
}
