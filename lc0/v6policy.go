package lc0

import (
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// index is the policy index of a move in the current record.
func (w *v6Writer) index(m chess.Move) uint16 { return encoding.PolicyIndex(w.transform.Move(m)) }

// fillPolicy writes the policy of p over w.moves.
func (w *v6Writer) fillPolicy(p *record.Ply) {
	probs := &w.record.Probabilities
	for i := range probs {
		probs[i] = -1
	}
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
		probs[w.index(m)] = v
	}
}

// indexOf turns a policy index of the board as it stands into that of the
// record; what is no legal move stays.
func (w *v6Writer) indexOf(plain uint16) uint16 {
	for _, m := range w.moves.Slice() {
		if encoding.PolicyIndex(m) == plain {
			return w.index(m)
		}
	}
	return plain
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
