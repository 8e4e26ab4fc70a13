package mcts

import "github.com/chessbrain/chessbrain/chess"

// gumbel holds the settings of Danihelka et al. 2022, and what one search at a
// root knows. Its formulas read a node's edges: prior, q, n and vl.
//
// Values of moves are completed: a move without visits is worth v_mix, which
// mixes the network's value of the node with the visited moves' Q weighted by
// their priors (appendix D). The improved policy is
//
//	pi'(a) = softmax(logits(a) + sigma(completed q(a))),   logits = ln prior
//
// and is computed as prior(a) * exp(sigma(a) - max sigma), so that only moves
// with visits cost an exponential.
type gumbel struct {
	GumbelConfig
	weights [chess.MaxMoves]float64 // of the improved policy, unnormalised; scratch
	values  completion              // what complete returned last; scratch
	root    halving
}

// completion is what completes the Q values of one node's moves: sigma(q) =
// scale * (q - low).
type completion struct {
	mix        float64 // v_mix
	scale, low float64
	top        float64 // the largest sigma
	rest       float64 // prior mass of the moves without visits
	sum        uint32  // visits of the moves, those that wait included
}

// sigma returns the transformed value of a move.
func (c *completion) sigma(q float64) float64 { return c.scale * (q - c.low) }

// of returns sigma of an edge's completed value.
func (c *completion) of(e *edge) float64 {
	if e.n == 0 {
		return c.sigma(c.mix)
	}
	return c.sigma(float64(e.q))
}

// complete looks at the visited of a node's moves, which are all among seen;
// num is the number of all moves and raw the network's value of the node. The
// priors of all moves sum to 1.
func (g *gumbel) complete(raw float32, seen []edge, num int) *completion {
	var sum, finished, most uint32
	var prior, weighted, rest float64
	low, high, visited := 1e300, -1e300, 0
	for k := range seen {
		e := &seen[k]
		sum += e.n + uint32(e.vl)
		if e.n == 0 {
			continue
		}
		visited++
		finished += e.n
		most = max(most, e.n)
		p, q := notZero(e.prior), float64(e.q)
		prior += p
		weighted += float64(p * q)
		if q < low { // the functions min and max cost as much as the rest
			low = q
		}
		if q > high {
			high = q
		}
	}
	mix := float64(raw)
	if visited > 0 {
		mix = (mix + float64(float64(finished)*(weighted/prior))) / float64(1+finished)
	}
	if visited < num {
		rest = max(0, 1-prior)
		low, high = min(low, mix), max(high, mix)
	}
	c := &g.values
	c.mix, c.rest, c.sum = mix, rest, sum
	c.scale, c.low = float64(g.MaxVisitInit+float64(most))*g.ValueScale, 0
	if g.Rescale {
		c.scale, c.low = c.scale/max(high-low, 1e-8), low
	}
	c.top = c.sigma(high)
	return c
}

// improve fills weights beside edges, of all or some moves of a node, with the
// improved policy times a constant, and returns the constant: the sum over all
// moves. rest is what the moves that are not among edges weigh together.
func (g *gumbel) improve(c *completion, edges []edge, rest float64) float64 {
	total := rest
	blind := expNeg(c.sigma(c.mix) - c.top)
	for k := range edges {
		e := &edges[k]
		x := blind
		if e.n != 0 {
			x = expNeg(c.sigma(float64(e.q)) - c.top)
		}
		weight := float64(notZero(e.prior) * x)
		g.weights[k] = weight
		total += weight
	}
	return total
}

// selectEdge returns the edge of node n, below the root, whose share of the
// visits lags most behind the improved policy: the largest
// pi'(a) - N(a) / (1 + sum of N). As in PUCT only the move with the largest
// prior of those that are no edges yet can win among them.
func (g *gumbel) selectEdge(t *tree, n *node) int {
	if n.touched == 0 { // no visit says anything yet: the largest prior wins
		return t.touch(n)
	}
	edges := t.edgesOf(n)
	c := g.complete(n.rawQ, edges, int(n.num))
	blind := expNeg(c.sigma(c.mix) - c.top)
	rest := 0.0 // prior mass of the moves that are no edges
	if n.touched < n.num {
		rest = c.rest
		for k := range edges {
			if edges[k].n == 0 { // waits for its first visit
				rest -= float64(edges[k].prior)
			}
		}
	}
	share := 1 / g.improve(c, edges, float64(max(0, rest)*blind))
	best, bestScore := g.mostLagging(c, edges, share)
	if n.touched == n.num {
		return best
	}
	// The next move has no larger prior than the last edge, which is at hand.
	wins := func(prior float32) bool { return float64(notZero(prior)*blind*share) > bestScore }
	if wins(edges[len(edges)-1].prior) && wins(t.next(n).prior) {
		return t.touch(n)
	}
	return best
}

// mostLagging returns the edge with the largest pi'(a) - N(a) / (1 + sum of N)
// and this score; pi' is weights times share.
func (g *gumbel) mostLagging(c *completion, edges []edge, share float64) (best int, bestScore float64) {
	best = -1
	visits := 1 / float64(1+c.sum)
	for k := range edges {
		e := &edges[k]
		score := float64(g.weights[k]*share) - float64(float64(e.n+uint32(e.vl))*visits)
		if best < 0 || score > bestScore {
			best, bestScore = k, score
		}
	}
	return best, bestScore
}

// target fills dst, by generation order, with the improved policy of a node's
// moves: the policy target.
func (g *gumbel) target(dst []float32, raw float32, edges []edge) {
	c := g.complete(raw, edges, len(edges))
	total := g.improve(c, edges, 0)
	for k := range edges {
		dst[edges[k].index] = float32(g.weights[k] / total)
	}
}
