package mcts

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// newRNG returns a stream of a fresh seed, which it logs.
func newRNG(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	return rand.New(rand.NewPCG(seed, 7))
}

func gumbelConfig(simulations int) *Config {
	c := config(simulations)
	c.Gumbel.Enabled = true
	return c
}

func TestExpAndLn(t *testing.T) {
	rng := newRNG(t)
	for range 20000 {
		x := -math.Exp(rng.Float64()*20 - 13) // down to -1096
		want := math.Exp(x)
		if x <= -700 {
			want = 0
		}
		if got := expNeg(x); math.Abs(got-want) > 1e-13*want {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
		y := math.Ldexp(1-rng.Float64(), rng.IntN(1200)-1000)
		if got, want := ln(y), math.Log(y); math.Abs(got-want) > 1e-15*math.Max(1, math.Abs(want)) {
			t.Fatalf("ln(%v) = %v, want %v", y, got, want)
		}
	}
	if expNeg(0) != 1 || ln(1) != 0 {
		t.Errorf("exp(0) = %v, ln(1) = %v", expNeg(0), ln(1))
	}
}

func TestConsideredVisits(t *testing.T) {
	for _, tc := range []struct {
		considered, budget int
		want               []int
	}{
		{1, 4, []int{0, 1, 2, 3}},
		{2, 5, []int{0, 0, 1, 1, 2}},
		{3, 6, []int{0, 0, 0, 1, 1, 2}},
		{4, 8, []int{0, 0, 0, 0, 1, 1, 2, 2}},
		{4, 16, []int{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}},
		{16, 8, []int{0, 0, 0, 0, 0, 0, 0, 0}},
		{8, 16, []int{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3}},
	} {
		for i, want := range tc.want {
			if got := consideredVisit(tc.considered, tc.budget, i); got != want {
				t.Errorf("%d considered, %d visits: visit %d has %d, want %d", tc.considered, tc.budget, i, got, want)
			}
		}
	}
	// Against the rounds played out one visit at a time.
	rng := newRNG(t)
	for range 500 {
		considered, budget := 2+rng.IntN(40), 1+rng.IntN(900)
		rounds := int(math.Ceil(math.Log2(float64(considered))))
		visits, left := make([]int, considered), considered
		for i := 0; i < budget; left = max(2, left/2) {
			for range max(1, budget/(rounds*left)) {
				for k := range left {
					if got := consideredVisit(considered, budget, i); i < budget && got != visits[k] {
						t.Fatalf("%d considered, %d visits: visit %d has %d, want %d", considered, budget, i, got, visits[k])
					}
					visits[k]++
					i++
				}
			}
		}
	}
}

// bandit returns random moves: priors that sum to 1, and a value for each.
func bandit(rng *rand.Rand, arms int) ([]edge, []float64) {
	edges, q := make([]edge, arms), make([]float64, arms)
	sum, spread := 0.0, 1+3*rng.Float64()
	p := make([]float64, arms)
	for k := range p {
		p[k] = math.Exp(spread * rng.NormFloat64())
		sum += p[k]
	}
	for k := range edges {
		q[k] = float64(float32(2*rng.Float64() - 1)) // as an edge holds it
		edges[k] = edge{prior: float32(p[k] / sum), index: uint8(k), child: none}
	}
	return edges, q
}

// slowImproved is the definition of the improved policy, in float64.
func slowImproved(c *GumbelConfig, raw float64, edges []edge) []float64 {
	n, most, prior, weighted := 0.0, 0.0, 0.0, 0.0
	for _, e := range edges {
		n, most = n+float64(e.n), math.Max(most, float64(e.n))
		if e.n > 0 {
			prior += float64(e.prior)
			weighted += float64(e.prior) * float64(e.q)
		}
	}
	mix := raw
	if n > 0 {
		mix = (raw + n*weighted/prior) / (1 + n)
	}
	q := make([]float64, len(edges))
	for k, e := range edges {
		if q[k] = mix; e.n > 0 {
			q[k] = float64(e.q)
		}
	}
	low, high := slices.Min(q), slices.Max(q)
	pi, sum := make([]float64, len(edges)), 0.0
	for k := range q {
		if c.Rescale {
			q[k] = (q[k] - low) / math.Max(high-low, 1e-8)
		}
		pi[k] = math.Exp(math.Log(float64(edges[k].prior)) + (c.MaxVisitInit+most)*c.ValueScale*q[k])
		sum += pi[k]
	}
	for k := range pi {
		pi[k] /= sum
	}
	return pi
}

func TestImprovedPolicyAndSelectionFollowTheDefinition(t *testing.T) {
	rng := newRNG(t)
	for range 2000 {
		edges, q := bandit(rng, 1+rng.IntN(40))
		for k := range edges {
			if rng.IntN(3) > 0 {
				edges[k].n, edges[k].q = 1+uint32(rng.IntN(30)), float32(q[k])
			}
		}
		c := GumbelConfig{ValueScale: 0.3 * rng.Float64(), MaxVisitInit: 50 * rng.Float64(), Rescale: rng.IntN(2) == 0}
		var g gumbel
		g.GumbelConfig = c
		raw := float32(2*rng.Float64() - 1)
		want := slowImproved(&c, float64(raw), edges)
		got := make([]float32, len(edges))
		g.target(got, raw, edges)
		sum := 0.0
		for k := range got {
			sum += float64(got[k])
			if math.Abs(float64(got[k])-want[k]) > 1e-6 { // priors are float32
				t.Fatalf("%+v, raw %v, move %d: %v, want %v of %+v", c, raw, k, got[k], want[k], edges)
			}
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Fatalf("the target sums to %v", sum)
		}
		checkSelection(t, &g, &c, raw, edges)
	}
}

// checkSelection puts the moves into a tree, the first half of them as edges, and
// compares the choice below the root with the definition. The other half has no visits.
func checkSelection(t *testing.T, g *gumbel, c *GumbelConfig, raw float32, moves []edge) {
	t.Helper()
	slices.SortStableFunc(moves, func(a, b edge) int { return cmp.Compare(b.prior, a.prior) })
	for k := range moves[len(moves)/2:] {
		moves[len(moves)/2+k].n = 0
	}
	var tr tree
	tr.addNode()
	tr.addMoves(0, make([]chess.Move, len(moves)))
	n := &tr.nodes[0]
	n.rawQ = raw
	visits := 1.0
	for k, m := range moves {
		tr.choicesOf(n)[k] = choice{prior: m.prior, index: m.index}
		visits += float64(m.n)
	}
	for k, m := range moves[:len(moves)/2] {
		tr.touch(n)
		tr.edgesOf(n)[k] = m
	}
	want := slowImproved(c, float64(raw), moves)
	score := func(k int) float64 { return want[k] - float64(moves[k].n)/visits }
	best := math.Inf(-1)
	for k := range moves {
		best = math.Max(best, score(k))
	}
	k := g.selectEdge(&tr, n)
	chosen := tr.edgesOf(n)[k].index
	at := slices.IndexFunc(moves, func(m edge) bool { return m.index == chosen })
	if best-score(at) > 1e-6 {
		t.Fatalf("move %d has %v, the best %v", at, score(at), best)
	}
}

// The improved policy is not worse than the prior, whatever was visited, if the
// value of what was not is right: here v_mix is, because the mean value of the
// moves visited, weighted by their priors, is that of all.
func TestImprovedPolicyImproves(t *testing.T) {
	rng := newRNG(t)
	better := 0
	for range 3000 {
		edges, q := bandit(rng, 2+rng.IntN(40))
		var mass, value [2]float64 // of moves without and with visits
		for k := range edges {
			side := 0
			if k == 0 || rng.IntN(2) == 0 {
				side, edges[k].n = 1, 1+uint32(rng.IntN(20))
			}
			mass[side] += float64(edges[k].prior)
			value[side] += float64(edges[k].prior) * q[k]
		}
		raw := value[1] / mass[1]
		for k := range edges {
			edges[k].q = float32(q[k])
			if edges[k].n == 0 {
				q[k] += raw - value[0]/mass[0]
			}
		}
		var g gumbel
		g.GumbelConfig = (GumbelConfig{ValueScale: rng.Float64(), MaxVisitInit: 50, Rescale: rng.IntN(2) == 0})
		improved := make([]float32, len(edges))
		g.target(improved, float32(raw), edges)
		before, after := 0.0, 0.0
		for k := range edges {
			before += float64(edges[k].prior) * q[k]
			after += float64(improved[k]) * q[k]
		}
		if after < before-1e-5 { // sums of float32 policies
			t.Fatalf("from %v down to %v: %+v", before, after, edges)
		}
		if after > before+0.01 {
			better++
		}
	}
	if better < 1500 {
		t.Errorf("better in only %d of 3000", better)
	}
}

// With the true values the move of sequential halving is never worse than the
// one that the same noise draws from the prior; so it is not worse on average.
func TestHalvingImproves(t *testing.T) {
	rng := newRNG(t)
	better := 0
	const rounds = 3000
	for range rounds {
		edges, q := bandit(rng, 1+rng.IntN(40))
		budget := 1 + rng.IntN(100)
		var g gumbel
		g.GumbelConfig = (GumbelConfig{Candidates: 1 + rng.IntN(20), ValueScale: rng.Float64(), MaxVisitInit: 50, Rescale: rng.IntN(2) == 0})
		g.root.draw(len(edges), 1, rng)
		g.root.open(edges, g.Candidates, budget)
		raw := float32(2*rng.Float64() - 1)
		drawn, visited := 0, 0
		for k := range edges {
			if g.root.score[k] > g.root.score[drawn] {
				drawn = k
			}
		}
		for range budget {
			k := g.selectRoot(raw, edges)
			edges[k].n++
			edges[k].q = float32(q[k])
		}
		for k := range edges {
			if edges[k].n > 0 {
				visited++
			}
		}
		if want := min(budget, g.Candidates, len(edges)); visited != want {
			t.Fatalf("%d moves visited, want %d", visited, want)
		}
		chosen := g.bestMove(raw, edges)
		if q[chosen] < q[drawn] {
			t.Fatalf("move %d of %v instead of %d of %v", chosen, q[chosen], drawn, q[drawn])
		}
		if q[chosen] > q[drawn] {
			better++
		}
	}
	if better < rounds/2 {
		t.Errorf("better in only %d of %d", better, rounds)
	}
}

func TestGumbelNoiseHasItsMoments(t *testing.T) {
	rng := newRNG(t)
	var h halving
	const n = 100000
	sum, square := 0.0, 0.0
	for range n / 100 {
		h.draw(100, 2, rng)
		for _, x := range h.noise {
			sum += x
			square += x * x
		}
	}
	mean := sum / n
	variance := square/n - mean*mean
	// Gumbel(0, 2): mean 2*0.5772, variance 4*pi^2/6; within five standard errors.
	if want := 2 * 0.5772156649; math.Abs(mean-want) > 5*math.Sqrt(4*1.645/n) {
		t.Errorf("mean %v, want %v", mean, want)
	}
	if want := 4 * math.Pi * math.Pi / 6; math.Abs(variance/want-1) > 0.05 {
		t.Errorf("variance %v, want %v", variance, want)
	}
}
