package mcts

import "math"

// The products below stand in explicit conversions: these keep the compiler
// from fusing a product with the sum around it, which some CPUs do and others
// do not, and which would give them different trees.

// puct holds the settings in the form that selection uses.
type puct struct {
	form                        CPUCTForm
	c, base, factor             float64
	stdev                       float32 // of values, at which c is as it is; 0 = c stays
	fpuAbsolute                 bool
	fpu                         float32 // reduction below the root, or the absolute value
	rootFPU, noisyFPU           float32
	virtualLoss                 float32
	mlMax, mlSlope, mlThreshold float32
}

func newPUCT(c *Config) puct {
	p := puct{
		form: c.CPUCTForm, c: c.CPUCT, base: c.CPUCTBase, factor: c.CPUCTFactor,
		stdev:       float32(c.CPUCTStdev),
		fpuAbsolute: c.FPUForm == FPUAbsolute,
		fpu:         float32(c.FPUReduction),
		rootFPU:     float32(c.RootFPUReduction),
		noisyFPU:    float32(c.NoisyFPU),
		virtualLoss: float32(c.VirtualLoss),
		mlMax:       float32(c.MovesLeft.MaxEffect),
		mlSlope:     float32(c.MovesLeft.Slope),
		mlThreshold: float32(c.MovesLeft.Threshold),
	}
	if p.fpuAbsolute {
		v := float32(c.FPUValue)
		p.fpu, p.rootFPU, p.noisyFPU = v, v, v
	}
	return p
}

// of returns c * sqrt(N) for an expanded node, where c follows the values below it if it
// is to.
func (p *puct) of(n *node) float32 {
	c := p.exploration(n.n - 1 + uint32(n.vl))
	if p.stdev > 0 && n.proven == Unproven {
		c *= p.spread(n)
	}
	return c
}

// How c follows the standard deviation of values: stdevWeight of the way, and as if a node had
// had stdevVisits more visits with the usual one.
const stdevWeight, stdevVisits = 0.85, 2

// spread returns the factor of c at a node.
func (p *puct) spread(n *node) float32 {
	visits, mean := float32(n.n), float32(n.w/float64(n.n))
	usual := float32(p.stdev * p.stdev)
	variance := float32(visits*max(0, n.extra-float32(mean*mean))) + float32(stdevVisits*usual)
	stdev := float32(math.Sqrt(float64(variance / (visits + stdevVisits))))
	return 1 + float32(stdevWeight*(stdev/p.stdev-1))
}

// exploration returns c * sqrt(N) for a node whose children have n visits.
func (p *puct) exploration(n uint32) float32 {
	if n < 1 {
		n = 1
	}
	c := p.c
	if p.form == CPUCTLog {
		c += float64(p.factor * math.Log((float64(n)+p.base)/p.base))
	}
	return float32(c * math.Sqrt(float64(n)))
}

// unvisited returns the value of a child without visits: q and visited are the
// parent's Q and the priors' sum of its visited children.
func (p *puct) unvisited(setting, q, visited float32) float32 {
	if p.fpuAbsolute {
		return setting
	}
	return q - float32(setting*float32(math.Sqrt(float64(visited))))
}

// waiting returns e's Q lowered by the simulations that wait below it.
func (p *puct) waiting(e *edge, q float32) float32 {
	vl := float32(p.virtualLoss * float32(e.vl))
	n := float32(e.n)
	if n+vl == 0 {
		return q
	}
	return (float32(n*q) - vl) / (n + vl)
}

// value returns Q of a visited edge as the score uses it.
func (s *Search) value(parent *node, e *edge) float32 {
	if e.vl == 0 && s.puct.mlMax == 0 { // nearly always; small enough for a loop's body
		return e.q
	}
	return s.adjusted(parent, e)
}

// adjusted is value of an edge that waits, or with the moves-left utility.
func (s *Search) adjusted(parent *node, e *edge) float32 {
	q := e.q
	if e.vl != 0 {
		q = s.puct.waiting(e, q)
	}
	if s.puct.mlMax > 0 {
		q += s.movesLeft(parent, e)
	}
	return q
}

// movesLeft returns the moves-left utility of a visited edge.
func (s *Search) movesLeft(parent *node, e *edge) float32 {
	p := &s.puct
	aq := max(e.q, -e.q)
	if aq < p.mlThreshold || e.child == none {
		return 0
	}
	c := &s.t.nodes[e.child]
	s.t.hold(c)
	m := c.m / float64(c.n)
	s.t.release(c)
	diff := float32(m+1) - float32(parent.m/float64(parent.n))
	effect := min(max(float32(p.mlSlope*diff), -p.mlMax), p.mlMax)
	effect = float32(effect * aq)
	if e.q > 0 {
		return -effect
	}
	return effect
}

// selectEdge returns the edge of an expanded node below the root that PUCT
// visits next, as an index into edgesOf. Moves become edges in the order of
// their priors: only the first of those that are none yet can win among them.
func (s *Search) selectEdge(i int32) int {
	n := &s.t.nodes[i]
	edges := s.t.edgesOf(n)
	scale := s.puct.of(n)
	best, bestScore := -1, float32(0)
	var visited float32
	holes := false
	for k := range edges {
		e := &edges[k]
		if e.n == 0 {
			holes = true
			continue
		}
		visited += e.prior
		u := float32(scale*e.prior) / float32(1+e.n+uint32(e.vl))
		if score := s.value(n, e) + u; best < 0 || score > bestScore {
			best, bestScore = k, score
		}
	}
	if n.touched == n.num && !holes {
		return best
	}
	fpu := s.puct.unvisited(s.puct.fpu, float32(n.w/float64(n.n)), visited)
	if holes {
		best, bestScore = s.selectUnvisited(edges, nil, scale, fpu, best, bestScore)
	}
	// The next move has no larger prior than the last edge, which is at hand.
	wins := func(prior float32) bool { return fpu+float32(scale*prior) > bestScore }
	if n.touched < n.num && (best < 0 || wins(edges[len(edges)-1].prior) && wins(s.t.next(n).prior)) {
		return s.t.touch(n)
	}
	return best
}

// selectUnvisited continues a selection with the edges that have no finished
// visit; priors, those of the root, replaces those of the edges if it is not nil.
func (s *Search) selectUnvisited(edges []edge, priors []float32, scale, fpu float32, best int, bestScore float32) (int, float32) {
	var barred []bool // empty = none, as below the root
	if priors != nil {
		barred = s.barred
	}
	for k := range edges {
		e := &edges[k]
		if e.n != 0 || k < len(barred) && barred[k] {
			continue
		}
		prior, q := e.prior, fpu
		if priors != nil {
			prior = priors[k]
		}
		if e.vl != 0 {
			q = s.puct.waiting(e, q)
		}
		u := float32(scale*prior) / float32(1+uint32(e.vl))
		if score := q + u; best < 0 || score > bestScore {
			best, bestScore = k, score
		}
	}
	return best, bestScore
}

// selectRoot is selectEdge for the root, whose priors may hold noise. The
// root's edges stand in generation order. A move that mates is visited first.
func (s *Search) selectRoot() int {
	n := &s.t.nodes[0]
	edges := s.t.edgesOf(n)
	if s.mate >= 0 && edges[s.mate].n == 0 {
		return s.mate
	}
	if s.gumbel.Enabled {
		return s.gumbel.selectRoot(n.rawQ, edges)
	}
	total, scale := n.n-1+uint32(n.vl), s.puct.of(n)
	best, bestScore := -1, float32(0)
	var visited float32
	barred := s.barred
	for k := range edges {
		e := &edges[k]
		if e.n == 0 || k < len(barred) && barred[k] {
			continue
		}
		if s.forced && s.forces(e, s.rootPrior[k], total) {
			return k
		}
		visited += s.rootPrior[k]
		u := float32(scale*s.rootPrior[k]) / float32(1+e.n+uint32(e.vl))
		if score := s.value(n, e) + u; best < 0 || score > bestScore {
			best, bestScore = k, score
		}
	}
	setting := s.puct.rootFPU
	if s.noisy {
		setting = s.puct.noisyFPU
	}
	fpu := s.puct.unvisited(setting, float32(n.w/float64(n.n)), visited)
	best, _ = s.selectUnvisited(edges, s.rootPrior, scale, fpu, best, bestScore)
	return best
}
