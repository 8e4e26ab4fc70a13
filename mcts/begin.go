package mcts

import (
	"math/rand/v2"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
)

// Limits bounds one search; see the fields of Config with the same names.
type Limits struct{ Simulations, Playouts int }

// Options are what may differ from search to search of one game. Limits of zero
// are no limits, whatever the Config says.
type Options struct {
	Limits
	Noise          bool // fresh noise at the root: Dirichlet, or Gumbel with its scale
	ForcedPlayouts bool // with the k of the Config; RootStats.Target is pruned

	// PUCT searches by PUCT even where the Config has Gumbel, which divides its visits
	// beforehand: for searches that end by time.
	PUCT bool

	// Only restricts the search to these of the root's moves, if it names any:
	// the others are not visited and not the best, while visits that they have
	// from before stay and RootStats.Target is of all moves.
	Only []chess.Move
}

// Begin starts a search at the current root with the limits of the Config. What
// an earlier search found of this root is kept. With noise, fresh Dirichlet
// noise is mixed into the root's priors; rng may be nil without it. Leaves that still wait are cancelled.
func (s *Search) Begin(rng *rand.Rand, noise bool) {
	s.BeginWith(rng, Options{Limits: Limits{s.cfg.Simulations, s.cfg.Playouts}, Noise: noise})
}

// BeginWith is Begin with options of its own. All randomness of the search is
// drawn from rng before it returns.
func (s *Search) BeginWith(rng *rand.Rand, o Options) {
	s.Cancel()
	s.puct = newPUCT(s.cfg)
	s.gumbel.GumbelConfig = s.cfg.Gumbel
	s.gumbel.Enabled = s.cfg.Gumbel.Enabled && !o.PUCT
	s.exponent = 1
	if t := s.cfg.PolicyTemperature; t > 0 {
		s.exponent = float32(1 / t)
	}
	s.noisy = o.Noise && s.cfg.NoiseEpsilon > 0 && !s.gumbel.Enabled
	s.forced = o.ForcedPlayouts && s.cfg.ForcedPlayouts > 0 && !s.gumbel.Enabled
	s.h.Board().GenerateMoves(&s.rootMoves)
	s.over = s.h.Terminal(s.rootMoves.N)
	s.target = target(s.t.nodes[0].n, o.Limits)
	s.begun, s.deepest = true, 0
	s.bar(o.Only)
	if s.over != chess.NotOver {
		return
	}
	s.mate = s.findMate()
	s.noise = resize(s.noise, s.rootMoves.N)
	if s.noisy {
		dirichlet(s.noise, s.cfg.NoiseAlpha, rng)
	}
	if s.gumbel.Enabled {
		scale := s.gumbel.Scale
		if !o.Noise {
			scale = 0
		}
		s.gumbel.root.draw(s.rootMoves.N, scale, rng)
	}
	if s.t.nodes[0].kind == kindExpanded {
		s.openRoot()
	}
	s.watchStops()
}

// bar leaves out the root's moves that are not in only, if any of them is.
func (s *Search) bar(only []chess.Move) {
	s.barred = s.barred[:0]
	if slices.ContainsFunc(only, func(m chess.Move) bool { return s.rootMoves.Index(m) >= 0 }) {
		for _, m := range s.rootMoves.Slice() {
			s.barred = append(s.barred, !slices.Contains(only, m))
		}
	}
	s.gumbel.root.barred = s.barred
}

// barring says which root moves a search leaves out, by ordinal; empty = none.
type barring []bool

func (b barring) has(i int) bool { return len(b) > 0 && b[i] }

// findMate returns the ordinal of the first root move that mates, or -1. PUCT
// with few visits may leave it out, so that it is looked for and visited first.
func (s *Search) findMate() int {
	for i, m := range s.rootMoves.Slice() {
		if !s.barred.has(i) && s.h.Board().Mates(m) {
			return i
		}
	}
	return -1
}

// target returns the root's visits at which a search ends that starts with n.
func target(n uint32, limits Limits) uint32 {
	t := uint32(unlimited)
	if limits.Simulations > 0 {
		t = uint32(limits.Simulations) + 1
	}
	if limits.Playouts > 0 {
		t = min(t, max(n, 1)+uint32(limits.Playouts))
	}
	return t
}

// openRoot opens the expanded root's edges and mixes the noise into their priors.
func (s *Search) openRoot() {
	s.t.openRoot()
	edges := s.t.edgesOf(&s.t.nodes[0])
	s.rootPrior = resize(s.rootPrior, len(edges))
	eps := float32(0)
	if s.noisy {
		eps = float32(s.cfg.NoiseEpsilon)
	}
	for i := range edges {
		s.rootPrior[i] = edges[i].prior
		if s.noisy {
			s.rootPrior[i] = float32((1-eps)*edges[i].prior) + float32(eps*float32(s.noise[i]))
		}
	}
	if s.gumbel.Enabled {
		s.gumbel.root.open(edges, s.gumbel.Candidates, s.budget())
	}
}

// budget returns the visits of root moves that a search which begins now will
// make, 0 without a limit of visits.
func (s *Search) budget() int {
	n := max(s.t.nodes[0].n, 1) // a new root counts itself once
	if s.target == unlimited || n >= s.target {
		return 0
	}
	return int(s.target - n)
}
