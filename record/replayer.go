package record

import (
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// Replayer rebuilds positions of games as training rows. It keeps its scratch
// between calls; the zero value is ready. One goroutine at a time.
type Replayer struct {
	Extra

	w   walker
	one [1]int
}

// Extra says which targets rows have besides those that the game spells out.
type Extra struct {
	// ShortTerm is the theta of TargetST, [0,1]; 0 leaves that target unknown.
	ShortTerm float64
	// Ahead gives rows what came after them in the game (encoding.Ahead).
	Ahead bool
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
// and TargetResult: Game.ResultAt. TargetST is (1-theta) times the root's value
// plus theta times the next position's TargetST seen from here, the last
// position's next value being its result: the return of TD(theta).
//
// An error, an *InvalidError, means that a number in plies is out of range or
// order, or that a policy does not lie beside the legal moves; rows before the
// bad one have then been appended.
func (r *Replayer) AppendRows(b *encoding.TrainBatch, g *Game, plies []int) error {
	move := func(at int) (chess.Move, error) { return g.Plies[at].Move, nil }
	return r.w.visit(g, len(g.Plies), plies, move, func(ply int) error { return r.appendCurrent(b, g, ply) })
}

// visit calls add at each of plies, which ascend, of a game of n plies. What is out of
// range or order is found before the first call.
func (w *walker) visit(g *Game, n int, plies []int, move func(at int) (chess.Move, error), add func(ply int) error) error {
	last := 0
	for _, ply := range plies {
		if ply < last || ply >= n {
			return invalid(ply, "row", "after %d, in a game of %d plies", last, n)
		}
		last = ply
	}
	if err := w.begin(g); err != nil {
		return err
	}
	at := 0
	for _, ply := range plies {
		for ; at < ply; at++ {
			m, err := move(at)
			if err != nil {
				return err
			}
			w.history.Push(m)
		}
		if err := add(ply); err != nil {
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
	p.fillTargets(b, i, g.targetAt(ply))
	if r.ShortTerm > 0 {
		b.Targets[i][encoding.TargetST] = g.shortTerm(ply, r.ShortTerm)
	}
	if r.Ahead {
		b.Ahead[i] = g.ahead(*r.w.history.Board(), ply)
	}
	return nil
}

// fillTargets writes the values and the weight of row i.
func (p *Ply) fillTargets(b *encoding.TrainBatch, i int, result encoding.QDM) {
	t := &b.Targets[i]
	t[encoding.TargetResult] = result
	t[encoding.TargetRoot] = p.Root
	t[encoding.TargetBest] = p.Best
	t[encoding.TargetPlayed] = p.Played
	t[encoding.TargetOrig] = p.Orig
	b.Weight[i] = p.Weight
}

// fillPolicy writes the policy target beside the legal moves; dst is zeros.
func (p *Ply) fillPolicy(dst []float32) {
	switch p.Kind {
	case PolicyProbs:
		copy(dst, p.Probs)
	case PolicyCounts:
		sum := CountSum(p.Counts)
		if sum == 0 { // a single legal move that needed no visits
			dst[0] = 1
			return
		}
		for j, n := range p.Counts {
			dst[j] = ShareOf(uint64(n), sum)
		}
	}
}

// ShareOf is the policy of a move with n of total visits, as lc0 rounds it, too.
func ShareOf(n, total uint64) float32 { return float32(float64(n) / float64(total)) }

// shortTerm returns TargetST of the position at ply. A position that was not
// searched has the value of the next one; beyond the last move stands the
// result of the last position. In an aborted game the last position that was
// searched is where the values begin.
func (g *Game) shortTerm(ply int, theta float64) encoding.QDM {
	last := len(g.Plies) - 1
	v := g.targetAt(last)
	for i := last; ; i-- {
		if v = Blend(g.Plies[i].Root, v, theta); i == ply {
			return v
		}
		v.Q, v.M = -v.Q, v.M+1
	}
}

// Blend returns (1-theta)*now + theta*later of each of Q, D and M, or the one of
// the two that is known: a step of TargetST.
func Blend(now, later encoding.QDM, theta float64) encoding.QDM {
	return encoding.QDM{Q: blend(now.Q, later.Q, theta), D: blend(now.D, later.D, theta), M: blend(now.M, later.M, theta)}
}

// blend returns (1-theta)*now + theta*later, or the one that is known.
func blend(now, later float32, theta float64) float32 {
	switch {
	case now != now:
		return later
	case later != later:
		return now
	}
	return float32(float64((1-theta)*float64(now)) + float64(theta*float64(later)))
}
