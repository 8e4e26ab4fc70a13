package mcts

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// halving is sequential halving at a root, among the moves with the largest
// noise + logits. It keeps no progress of its own: whose turn it is follows from
// the visits, so that cancelled leaves leave no trace.
//
// At a reused root the schedule counts only the visits of this search, while Q,
// and the visits in sigma, are those of the whole tree: an earlier search's
// visits make values better, and give no move a place or a turn.
type halving struct {
	score      []float64 // noise + logits, beside the root's edges
	noise      []float64 // Gumbel noise, with its scale
	before     []uint32  // visits before this search
	earlier    uint32    // their sum
	barred     barring
	considered int // moves that the first round visits
	budget     int // visits of this search, 0 = not limited
}

// draw draws the noise for so many moves; with scale 0 there is none, and rng
// may be nil.
func (h *halving) draw(moves int, scale float64, rng *rand.Rand) {
	h.noise = resize(h.noise, moves)
	clear(h.noise)
	if scale == 0 {
		return
	}
	for i := range h.noise {
		u := (float64(rng.Uint64()>>12) + 0.5) / (1 << 52) // in (0,1)
		h.noise[i] = float64(scale * -ln(-ln(u)))
	}
}

// open prepares a search of budget visits at a root with these edges.
func (h *halving) open(edges []edge, candidates, budget int) {
	h.score, h.before = resize(h.score, len(edges)), resize(h.before, len(edges))
	moves := 0
	h.budget, h.earlier = budget, 0
	for k := range edges {
		if !h.barred.has(k) {
			moves++
		}
		h.score[k] = h.noise[k] + ln(max(float64(edges[k].prior), tinyPrior))
		h.before[k] = edges[k].n
		h.earlier += edges[k].n
	}
	h.considered = min(candidates, moves)
}

// consideredVisit returns how many visits the moves have whose turn it is when
// given of budget visits are given out: each round of sequential halving gives
// the same number to all moves of it, and the next round has half of them, two
// at least. It is the table of the paper's reference implementation.
func consideredVisit(considered, budget, given int) int {
	if considered <= 1 {
		return given
	}
	rounds := bits.Len(uint(considered - 1)) // ceil(log2)
	for visits, left := 0, given; ; considered = max(2, considered/2) {
		each := max(1, budget/(rounds*considered))
		if left < each*considered {
			return visits + left/considered
		}
		left -= each * considered
		visits += each
	}
}

// selectRoot returns the move whose turn it is: of those with the visits that
// the schedule considers the one with the largest noise + logits + sigma. Where
// proven losses, which are left out, or a mate visited ahead of its turn have
// upset the schedule, it goes on with those that come next below. A search
// without a budget has no rounds: it selects as below the root.
func (g *gumbel) selectRoot(raw float32, edges []edge) int {
	h := &g.root
	c := g.complete(raw, edges, len(edges))
	if h.budget == 0 {
		share := 1 / g.improve(c, edges, 0)
		for k := range edges {
			if h.barred.has(k) {
				g.weights[k] = math.Inf(-1)
			}
		}
		best, _ := g.mostLagging(c, edges, share)
		return best
	}
	want := consideredVisit(h.considered, h.budget, int(c.sum-h.earlier))
	best, bestTurn, bestScore := -1, 0, 0.0
	for k := range edges {
		e := &edges[k]
		turn := int(e.n + uint32(e.vl) - h.before[k])
		if turn > want { // ahead of its turn: behind all others, the least visited first
			turn = -turn
		}
		if e.proven == ProvenLoss { // only if there are no others
			turn -= math.MaxInt32
		}
		if best >= 0 && turn < bestTurn || h.barred.has(k) {
			continue
		}
		if score := h.score[k] + c.of(e); best < 0 || turn > bestTurn || score > bestScore {
			best, bestTurn, bestScore = k, turn, score
		}
	}
	return best
}

// bestMove returns the outcome of sequential halving: of the moves that this
// search visited most, proven losses left out, the one with the largest noise +
// logits + sigma; with no visits of this search, of those visited most at all.
// It returns -1 if every move is a proven loss.
func (g *gumbel) bestMove(raw float32, edges []edge) int {
	h := &g.root
	c := g.complete(raw, edges, len(edges))
	given := false
	for k := range edges {
		given = given || edges[k].n > h.before[k]
	}
	best, bestScore, most := -1, 0.0, uint32(0)
	for k := range edges {
		e := &edges[k]
		if e.proven == ProvenLoss || h.barred.has(k) {
			continue
		}
		n := e.n
		if given {
			n -= h.before[k]
		}
		score := h.score[k] + c.of(e)
		if best < 0 || n > most || n == most && score > bestScore {
			best, most, bestScore = k, n, score
		}
	}
	return best
}
