package mcts

import (
	"math"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// unlimited is the target of a search that only its caller stops.
const unlimited = math.MaxUint32

// Search is the tree of one game and the game's line so far. It is used by one
// goroutine at a time.
type Search struct {
	cfg    *Config
	puct   puct
	cache  *Cache
	policy RootPolicy

	t, spare tree           // nodes[0] of t is the root; spare is what compaction copies into
	h        *chess.History // the line to the root; longer only inside a simulation
	rootLen  int            // boards in the line to the root

	rootMoves chess.MoveList
	over      chess.Terminal // how the game is over at the root, if it is
	rootPrior []float32      // priors of the root's edges, with noise
	noise     []float64      // Dirichlet sample for the root's edges
	noisy     bool           // noise is mixed in
	mate      int            // ordinal of a root move that mates, -1 = none
	begun     bool
	rng       *rand.Rand
	target    uint32 // visits of the root at which the search is done

	path    []step // steps of the simulation under way
	steps   []step // paths of the leaves that wait
	waiting []leaf // leaves that wait, in the order of their rows
	list    chess.MoveList
	masks   [encoding.NumMasks]uint64
	scalars encoding.Scalars
	moves   []MoveStats // what Root hands out
}

// step is a node of a path and the edge taken there, as an index into its edges.
type step struct{ node, edge int32 }

// leaf is a node whose row is in a batch.
type leaf struct {
	row      int32
	node     int32
	from, to int32 // its path is steps[from:to]
	key      key
}

// Limits bounds one search; see the fields of Config with the same names.
type Limits struct{ Simulations, Playouts int }

// New returns a search of the start position. The cache may be nil; several
// searches may share one if one goroutine drives them all.
func New(cfg *Config, cache *Cache) *Search {
	s := &Search{cfg: cfg, cache: cache}
	if cfg.NewRoot != nil {
		s.policy = cfg.NewRoot()
	}
	s.Reset(chess.NewHistory(chess.StartBoard()))
	return s
}

// Reset starts a new game whose line so far is h, which is copied. Memory is
// kept, nothing else is.
func (s *Search) Reset(h *chess.History) {
	if s.h == nil {
		s.h = chess.NewHistory(*h.At(0))
	}
	s.h.CopyFrom(h)
	s.newRoot()
}

// newRoot empties the tree; the newest position of the line becomes its root.
func (s *Search) newRoot() {
	s.waiting, s.steps = s.waiting[:0], s.steps[:0]
	s.t.reset()
	s.t.addNode()
	s.rootLen = s.h.Len()
	s.begun = false
}

// DropTree forgets the tree and keeps the line: for new weights.
func (s *Search) DropTree() { s.newRoot() }

// History returns the line to the root. It must not be changed.
func (s *Search) History() *chess.History { return s.h }

// Begin starts a search at the current root with the limits of the Config. What
// an earlier search found of this root is kept. With noise, fresh Dirichlet
// noise is mixed into the root's priors; rng may be nil without it, unless the
// root policy needs one. Leaves that still wait are cancelled.
func (s *Search) Begin(rng *rand.Rand, noise bool) {
	s.BeginLimits(rng, noise, Limits{s.cfg.Simulations, s.cfg.Playouts})
}

// BeginLimits is Begin with other limits.
func (s *Search) BeginLimits(rng *rand.Rand, noise bool, limits Limits) {
	s.Cancel()
	s.puct = newPUCT(s.cfg)
	s.rng = rng
	s.noisy = noise && s.cfg.NoiseEpsilon > 0
	s.h.Board().GenerateMoves(&s.rootMoves)
	s.over = s.h.Terminal(s.rootMoves.N)
	s.target = target(s.t.nodes[0].n, limits)
	s.begun = true
	if s.over != chess.NotOver {
		return
	}
	s.mate = s.findMate()
	s.noise = resize(s.noise, s.rootMoves.N)
	if s.noisy {
		dirichlet(s.noise, s.cfg.NoiseAlpha, rng)
	}
	if s.t.nodes[0].kind == kindExpanded {
		s.openRoot()
	}
}

// findMate returns the ordinal of the first root move that mates, or -1. PUCT
// with few visits may leave it out, so that it is looked for and visited first.
func (s *Search) findMate() int {
	defer s.h.Truncate(s.rootLen)
	for i, m := range s.rootMoves.Slice() {
		s.h.Truncate(s.rootLen)
		s.h.Push(m)
		if !s.h.Board().InCheck() {
			continue
		}
		if s.h.Board().GenerateMoves(&s.list); s.list.N == 0 {
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

// openRoot puts the expanded root's edges into generation order and mixes the
// noise into their priors.
func (s *Search) openRoot() {
	edges := s.t.edgesOf(&s.t.nodes[0])
	for i := range edges {
		for k := int(edges[i].index); k != i; k = int(edges[i].index) {
			edges[i], edges[k] = edges[k], edges[i]
		}
	}
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
	if s.policy != nil {
		s.policy.Begin(RootView{s}, s.rng)
	}
}

// Done reports whether the search has given out all its visits and none waits.
// A root where the game is over is done at once. Without a limit it is never
// true.
func (s *Search) Done() bool { return s.begun && s.handedOut() && len(s.waiting) == 0 }

// handedOut reports whether no further simulation may start.
func (s *Search) handedOut() bool {
	if s.over != chess.NotOver {
		return true
	}
	root := &s.t.nodes[0]
	if root.n > 0 && s.cfg.MaxNodes > 0 && len(s.t.nodes) >= s.cfg.MaxNodes {
		return true
	}
	return root.n+uint32(root.vl) >= s.target
}

// Waiting returns the number of leaves that wait for Apply.
func (s *Search) Waiting() int { return len(s.waiting) }

// Nodes returns the number of nodes in the tree.
func (s *Search) Nodes() int { return len(s.t.nodes) }

// Gather runs simulations and appends the leaves that need the network to b,
// until limit rows were appended, the search is done, or the next leaf waits
// already; it returns the rows appended. Simulations that end without the
// network (game over, prober, cache) are backed up at once. Rows of several
// calls may wait together if they are in the same batch.
//
// With limit 1 the tree does not depend on the cache; with more, leaves that
// wait and leaves that are known shape it differently.
func (s *Search) Gather(b *encoding.Batch, limit int) int {
	rows := 0
	for rows < limit && !s.handedOut() {
		switch s.simulate(b) {
		case simWaits:
			rows++
		case simCollided:
			return rows
		}
	}
	return rows
}

// Apply takes the evaluator's answers to the rows that this search appended to
// b since the last Apply: it expands their nodes and backs their values up.
func (s *Search) Apply(b *encoding.Batch) {
	for i := range s.waiting {
		l := &s.waiting[i]
		prior, wdl, m := b.PriorOf(int(l.row)), b.WDL[l.row], b.M[l.row]
		if s.cache != nil {
			s.cache.put(l.key, prior, wdl, m)
		}
		s.expand(l.node, prior, wdl, m)
		s.backup(s.steps[l.from:l.to], l.node)
	}
	s.waiting, s.steps = s.waiting[:0], s.steps[:0]
}

// Cancel forgets the leaves that wait, as if they had never been chosen: for a
// caller that stops without an evaluation. Their rows must not be applied.
func (s *Search) Cancel() {
	for i := len(s.waiting) - 1; i >= 0; i-- {
		l := &s.waiting[i]
		s.t.nodes[l.node].kind = kindNew
		s.undo(s.steps[l.from:l.to], l.node)
	}
	s.waiting, s.steps = s.waiting[:0], s.steps[:0]
}

// resize returns s with length n; the contents are not kept.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, max(n, 64))
	}
	return s[:n]
}
