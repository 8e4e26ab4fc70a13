package record

import (
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// Replayer rebuilds positions of games as training rows. It keeps its scratch
// between calls; the zero value is ready. One goroutine at a time.
type Replayer struct {
	w   walker
	one [1]int
}

// AppendRow appends the position before g's move number ply (from 0) to b: the
// input with its history, the policy, the value targets and the weight. g must
// be valid. See AppendRows.
func (r *Replayer) AppendRow(b *encoding.TrainBatch, g *Game, ply int) error {
	r.one[0] = ply
	return r.AppendRows(b, g, r.one[:])
}

// AppendRows appends several positions of g in one replay. plies ascend; one
// may come twice. g must be valid: its moves are played without a check.
//
// A row's policy target is Counts divided by their sum, or Probs as they are;
// a position with PolicyNone has all zeros. Its targets are Ply's quadruples,
// and TargetResult: Q from the game's result, D = 1 for a draw, M = plies to
// the end of the game (unknown in an aborted game). TargetST stays unknown.
//
// An error, an *InvalidError, means that a number in plies is out of range or
// order, or that a policy does not lie beside the legal moves; rows before the
// bad one have then been appended.
func (r *Replayer) AppendRows(b *encoding.TrainBatch, g *Game, plies []int) error {
	last := 0
	for _, ply := range plies {
		if ply < last || ply >= len(g.Plies) {
			return invalid(ply, "row", "after %d, in a game of %d plies", last, len(g.Plies))
		}
		last = ply
	}
	if err := r.w.begin(g); err != nil {
		return err
	}
	at := 0
	for _, ply := range plies {
		for ; at < ply; at++ {
			r.w.history.Push(g.Plies[at].Move)
		}
		if err := r.appendCurrent(b, g, ply); err != nil {
			return err
		}
	}
	return nil
}

// appendCurrent appends the walker's position, which is that of ply.
func (r *Replayer) appendCurrent(b *encoding.TrainBatch, g *Game, ply int) error {
	p := &g.Plies[ply]
	if err := checkPolicy(ply, p, len(r.w.generate())); err != nil {
		return err
	}
	i := encoding.AppendTrainPosition(b, r.w.history, &r.w.moves)
	p.fillPolicy(b.PolicyOf(i))
	t := &b.Targets[i]
	t[encoding.TargetResult] = g.resultTarget(r.w.history.Board().SideToMove(), ply)
	t[encoding.TargetRoot] = p.Root
	t[encoding.TargetBest] = p.Best
	t[encoding.TargetPlayed] = p.Played
	t[encoding.TargetOrig] = p.Orig
	b.Weight[i] = p.Weight
	return nil
}

// fillPolicy writes the policy target beside the legal moves; dst is zeros.
func (p *Ply) fillPolicy(dst []float32) {
	switch p.Kind {
	case PolicyProbs:
		copy(dst, p.Probs)
	case PolicyCounts:
		sum := countSum(p.Counts)
		if sum == 0 { // a single legal move that needed no visits
			dst[0] = 1
			return
		}
		for j, n := range p.Counts {
			dst[j] = float32(float64(n) / float64(sum))
		}
	}
}

// resultTarget is the game's outcome as side, to move at ply, sees it.
func (g *Game) resultTarget(side chess.Color, ply int) encoding.QDM {
	if g.End == EndAborted {
		return encoding.UnknownQDM
	}
	v := encoding.QDM{Q: float32(g.Result(side)), M: float32(len(g.Plies) - ply)}
	if g.WhiteResult == 0 {
		v.D = 1
	}
	return v
}
