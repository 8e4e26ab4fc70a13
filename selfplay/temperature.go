package selfplay

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/mcts"
)

// Temperature says how a move is drawn from a search: with probability
// proportional to (N+VisitOffset)^(1/T), where N are the visits, or the pruned
// visits of a search with forced playouts. Plies are counted from the record's
// start position, opening plies included.
//
// In lc0's terms, which counts moves: tempdecay-delay-moves d is Plies 2d,
// tempdecay-moves m is DecayPlies 2m, temp-endgame is Floor, temp-value-cutoff is
// ValueCutoff, temp-visit-offset is VisitOffset; KataGo's half-life is HalfLife.
type Temperature struct {
	Start float64 // T at the first ply
	// Plies is how long T stays at Start before it drops to Floor. With a
	// HalfLife or DecayPlies, T decays from then on instead of dropping.
	Plies      int
	HalfLife   float64 // plies in which T-Floor halves; 0 = not so
	DecayPlies int     // plies in which T falls to Floor in a straight line; 0 = not so
	Floor      float64 // 0 = the best move
	CutoffPly  int     // from this ply on T is 0; 0 = never

	// ValueCutoff leaves out moves whose Q is more than so many percentage
	// points of winning probability (1 point = 0.02 of Q) below that of the best
	// move, and moves without a visit. 0 and 100 = all moves stay.
	ValueCutoff float64
	// VisitOffset is added to the visits of each visited move; what falls below 0
	// counts as 0. In [-1e6,1e6].
	VisitOffset float64
}

// At returns T at a ply.
func (t Temperature) At(ply int) float64 {
	late := ply - t.Plies
	switch {
	case t.CutoffPly > 0 && ply >= t.CutoffPly:
		return 0
	case late < 0:
		return t.Start
	case t.HalfLife > 0:
		return t.Floor + float64((t.Start-t.Floor)*math.Exp2(-float64(late)/t.HalfLife))
	case late < t.DecayPlies:
		return t.Start + float64((t.Floor-t.Start)*(float64(late)/float64(t.DecayPlies)))
	}
	return t.Floor
}

// cutsValues reports whether ValueCutoff leaves moves out.
func (t *Temperature) cutsValues() bool { return t.ValueCutoff > 0 && t.ValueCutoff < 100 }

func (t *Temperature) validate() error {
	if err := inRange([]setting{
		{"temperature", t.Start, 0, 100},
		{"temperature plies", float64(t.Plies), 0, math.MaxInt32},
		{"temperature half-life", t.HalfLife, 0, 1e9},
		{"temperature decay plies", float64(t.DecayPlies), 0, math.MaxInt32},
		{"temperature floor", t.Floor, 0, 100},
		{"temperature cutoff ply", float64(t.CutoffPly), 0, math.MaxInt32},
		{"temperature value cutoff", t.ValueCutoff, 0, 100},
		{"temperature visit offset", t.VisitOffset, -1e6, 1e6},
	}); err != nil {
		return err
	}
	if t.HalfLife > 0 && t.DecayPlies > 0 {
		return fmt.Errorf("game settings: temperature half-life %v and decay plies %d exclude each other; set one to 0", t.HalfLife, t.DecayPlies)
	}
	return nil
}

// pick returns the ordinal of the move to play.
//
// A ply of the opening that is left to the policy is drawn from the network's
// priors. A side position has its best move. Otherwise the move is uniform with
// the exploration rate, else drawn by the temperature. A Gumbel search with
// noise has explored by itself, its noise scaled by the temperature: its own
// choice is played. Of one without noise, a cheap search, the temperature draws
// from the improved policy.
func (g *game) pick(root *mcts.RootStats) int {
	switch {
	case g.mode == policyPly:
		return g.drawPrior(root)
	case g.kind == sidePosition:
		return root.Best
	}
	rng := g.stream(streamPick)
	if rng.Float64() < g.cfg.ExplorationRate {
		return rng.IntN(len(root.Moves))
	}
	s := &g.cfg.Temperature
	t := s.At(len(g.rec.Plies))
	if t <= 0 || g.gumbelNoise {
		return root.Best
	}
	g.weights = s.weigh(g.weights[:0], root)
	return sample(g.weights, t, root.Best, rng)
}

// weigh appends what each root move weighs in the draw at T = 1, in visits.
func (t *Temperature) weigh(dst []float64, root *mcts.RootStats) []float64 {
	least := math.Inf(-1)
	if t.cutsValues() {
		least = float64(root.Moves[root.Best].Q) - t.ValueCutoff/50
	}
	total := 0.0
	for i := range root.Moves {
		total += float64(root.Moves[i].N)
	}
	for i := range root.Moves {
		m := &root.Moves[i]
		w := float64(m.N)
		if root.Target != nil {
			w = float64(root.Target[i]) * total
		}
		if m.N > 0 && w > 0 {
			w = max(0, w+t.VisitOffset)
		}
		if t.cutsValues() && (m.N == 0 || float64(m.Q) < least) {
			w = 0
		}
		dst = append(dst, w)
	}
	return dst
}

// drawPrior returns a move drawn from the network's priors with the openings'
// temperature.
func (g *game) drawPrior(root *mcts.RootStats) int {
	g.weights = g.weights[:0]
	for i := range root.Moves {
		g.weights = append(g.weights, float64(root.Moves[i].P))
	}
	return sample(g.weights, g.cfg.Openings.policyTemperature(), root.Best, g.stream(streamOpening))
}

// sample is mcts.SampleWeights with none where no weight is above 0.
func sample(weights []float64, t float64, none int, rng *rand.Rand) int {
	if i := mcts.SampleWeights(weights, t, rng); i >= 0 {
		return i
	}
	return none
}
