package mcts

import "math"

// forces reports whether a visited root move must be visited before PUCT has
// its say: while it has fewer visits than sqrt(k * prior * visits of all moves)
// (Wu 2019, "Accelerating self-play learning in Go", section 3.2). The prior has
// the noise. A proven move is not forced: there is nothing to learn about it.
func (s *Search) forces(e *edge, prior float32, total uint32) bool {
	n := float64(e.n + uint32(e.vl))
	return e.proven == Unproven && n*n < float64(s.cfg.ForcedPlayouts*float64(prior))*float64(total)
}

// pruned fills dst, by ordinal, with the root's visits less the forced ones that
// PUCT would not have made, normalised, and reports whether there are visits at
// all. Each move but the most visited loses at most as many visits as are
// forced, and keeps those with which its PUCT score, with the final Q, would
// reach that of the most visited; one visit that is left over goes too.
func (s *Search) pruned(dst []float32) bool {
	n := &s.t.nodes[0]
	edges := s.t.edgesOf(n)
	top := 0
	for k := range edges {
		e, t := &edges[k], &edges[top]
		if e.n > t.n || e.n == t.n && (e.q > t.q || e.q == t.q && e.prior > t.prior) {
			top = k
		}
	}
	total := uint32(0)
	for k := range edges {
		total += edges[k].n
	}
	if total == 0 {
		return false
	}
	scale := s.puct.of(n)
	score := func(k int, visits uint32) float32 {
		return s.value(n, &edges[k]) + float32(scale*s.rootPrior[k])/float32(1+visits)
	}
	best, left := score(top, edges[top].n), uint32(0)
	for k := range edges {
		visits := edges[k].n
		if k != top && visits > 0 {
			free := uint32(math.Sqrt(s.cfg.ForcedPlayouts * float64(s.rootPrior[k]) * float64(total)))
			for ; free > 0 && visits > 0 && score(k, visits-1) < best; free-- {
				visits--
			}
			if visits == 1 {
				visits = 0
			}
		}
		left += visits
		dst[k] = float32(visits)
	}
	for k := range edges {
		dst[k] /= float32(left)
	}
	return true
}
