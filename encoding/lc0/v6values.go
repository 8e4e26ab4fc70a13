package lc0

import (
	"math"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// reachedValues returns the value of every position of g for its mover, that
// after the last move included: the search's, or else that of the next
// position turned round; at the end, the result.
func reachedValues(g *record.Game) []encoding.QDM {
	n := len(g.Plies)
	values := make([]encoding.QDM, n+1)
	start, _ := g.StartBoard() // g is valid
	side := start.SideToMove() ^ chess.Color(n&1)
	values[n] = encoding.QDM{Q: float32(g.Result(side))}
	if g.WhiteResult == 0 {
		values[n].D = 1
	}
	for i := n - 1; i >= 0; i-- {
		values[i] = known(g.Plies[i].Root, turned(values[i+1]))
	}
	return values
}

// turned is the value of a move that leads to a position of value v.
func turned(v encoding.QDM) encoding.QDM { return encoding.QDM{Q: -v.Q, D: v.D, M: v.M + 1} }

// known is v with what is not known taken from other.
func known(v, other encoding.QDM) encoding.QDM {
	if v.Q != v.Q || v.D != v.D {
		v.Q, v.D = other.Q, other.D
	}
	if v.M != v.M {
		v.M = other.M
	}
	return v
}

// drawnIn brings a value into Leela's ranges: Q in [-1,1], D in [0,1], win
// (1-d+q)/2 and loss win-q not negative in float32. NaN stays.
func drawnIn(v encoding.QDM) encoding.QDM {
	if v.Q != v.Q || v.D != v.D {
		return v
	}
	v.Q, v.D = min(max(v.Q, -1), 1), min(max(v.D, 0), 1)
	for {
		win := (1 - v.D + v.Q) / 2
		short := min(win, win-v.Q)
		if short >= 0 { // at the latest with D = 0
			return v
		}
		v.D = max(0, min(v.D+2*short, math.Nextafter32(v.D, 0)))
	}
}

// shortTermValues puts the short-term value of every position into values, the same as
// record.Replayer's TargetST: (1-theta) times the search's value, root, plus theta
// times the next position's, turned round; beyond the last move stands the last
// position's result.
func shortTermValues(values []encoding.QDM, root func(i int) encoding.QDM, result encoding.QDM, theta float64) {
	later := result
	for i := len(values) - 1; i >= 0; i-- {
		values[i] = record.Blend(root(i), later, theta)
		later = turned(values[i])
	}
}

// index is the policy index of a move in the current record.
func (w *v6Writer) index(m chess.Move) uint16 { return encoding.PolicyIndex(w.transform.Move(m)) }

// fillPolicy writes the policy of p over w.moves.
func (w *v6Writer) fillPolicy(p *record.Ply) {
	w.record.Probabilities = allIllegal
	total := uint64(0)
	for _, n := range p.Counts {
		total += uint64(n)
	}
	for j, m := range w.moves.Slice() {
		v := float32(0)
		switch {
		case p.Kind == record.PolicyProbs:
			v = p.Probs[j]
		case total > 0:
			v = float32(float64(p.Counts[j]) / float64(total))
		case m == p.Move: // not searched, or a single move that needed no visit
			v = 1
		}
		w.record.Probabilities[w.index(m)] = v
	}
}

// bestMove returns the move that p.Best is of, as AppendRecords says. Among equals
// that tell nothing it is the one with the lowest number.
func bestMove(p *record.Ply, legal []chess.Move) chess.Move {
	if p.Kind == record.PolicyNone || len(legal) == 1 {
		return p.Move
	}
	share := func(j int) float64 {
		if p.Kind == record.PolicyProbs {
			return float64(p.Probs[j])
		}
		return float64(p.Counts[j])
	}
	best, played, most := -1, 0, 0.0
	for j, m := range legal {
		most = max(most, share(j))
		if m == p.Move {
			played = j
			if p.Played != p.Best {
				continue
			}
		}
		if best < 0 || share(j) > share(best) || share(j) == share(best) && m < legal[best] {
			best = j
		}
	}
	if p.Played == p.Best && (share(played) == most || p.Flags&record.BestProven != 0) {
		return p.Move
	}
	return legal[best]
}
