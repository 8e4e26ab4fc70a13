package mcts

import (
	"math"

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
	gumbel gumbel
	cache  *Cache

	t, spare *tree          // nodes[0] of t is the root; spare is what compaction copies into
	h        *chess.History // the line to the root; longer only inside a simulation
	rootLen  int            // boards in the line to the root

	exponent  float32 // of the priors: 1 / temperature
	rootMoves chess.MoveList
	over      chess.Terminal // how the game is over at the root, if it is
	rootPrior []float32      // priors of the root's edges, with noise
	noise     []float64      // Dirichlet sample for the root's edges
	noisy     bool           // noise is mixed in
	forced    bool           // this search has forced playouts
	barred    barring
	mate      int // ordinal of a root move that mates, -1 = none
	begun     bool
	stop      stopper
	target    uint32 // visits of the root at which the search is done

	path    []step // steps of the simulation under way
	steps   []step // paths of the leaves that wait
	waiting []leaf // leaves that wait, in the order of their rows
	list    chess.MoveList
	moves   []MoveStats // what Root hands out
	policyT []float32   // the same: its Target
	prior   []float32   // of an answer of the cache
	counts  Counts
	deepest int // plies to the deepest simulation since Begin
}

// step is a node of a path and the edge taken there, as a place in its edgesOf.
type step struct{ node, edge int32 }

// leaf is a node whose row is in a batch.
type leaf struct {
	row      int32
	node     int32
	from, to int32 // its path is steps[from:to]
	key      key
}

// Counts says how many simulations ended how, since New. A simulation that was
// cancelled, or that collided with a leaf that waits, is not counted.
type Counts struct {
	Expanded uint64 // at a new node with the evaluator's answer
	Cached   uint64 // at a new node with the cache's answer
	Terminal uint64 // where the outcome needs no network: over, probed, twofold, proven
	DepthSum uint64 // plies from the root to where they ended, of all three
}

// Sum returns the simulations counted.
func (c Counts) Sum() uint64 { return c.Expanded + c.Cached + c.Terminal }

func (c *Counts) add(other Counts) {
	c.Expanded += other.Expanded
	c.Cached += other.Cached
	c.Terminal += other.Terminal
	c.DepthSum += other.DepthSum
}

// New returns a search of the start position. The cache may be nil; several
// searches may share one if one goroutine drives them all.
func New(cfg *Config, cache *Cache) *Search {
	s := &Search{cfg: cfg, cache: cache, exponent: 1, t: &tree{}, spare: &tree{}, h: chess.NewHistory(chess.StartBoard())}
	s.DropTree()
	return s
}

// Reserve makes room for so many nodes, so that no search stops for some tenths of
// a second while its arrays are copied to longer ones. The memory is taken from the
// system when it is first used.
func (s *Search) Reserve(nodes int) { s.t.reserve(nodes) }

// SetCache has the answers remembered in another cache, or none.
func (s *Search) SetCache(c *Cache) { s.cache = c }

// Reset starts a new game whose line so far is h, which is copied. Memory is
// kept, nothing else is.
func (s *Search) Reset(h *chess.History) {
	s.h.CopyFrom(h)
	s.DropTree()
}

// DropTree forgets the tree and keeps the line, whose newest position becomes the
// root: for new weights.
func (s *Search) DropTree() {
	s.waiting, s.steps = s.waiting[:0], s.steps[:0]
	s.t.reset()
	s.t.addNode()
	s.atRoot()
}

// atRoot notes that the newest position of the line is a root that no search has
// begun at.
func (s *Search) atRoot() {
	s.rootLen, s.begun, s.barred = s.h.Len(), false, s.barred[:0]
}

// History returns the line to the root. It must not be changed.
func (s *Search) History() *chess.History { return s.h }

// Done reports whether the search has all its visits, or a stop of the Config
// ended it, and no leaf waits: in a crew, no member's, for one that is cancelled
// is wanted again.
// A root where the game is over is done at once. Without a limit it is never
// true.
func (s *Search) Done() bool {
	s.t.enter()
	defer s.t.leave()
	all, waiting := s.handedOut()
	return s.begun && all && waiting == 0 && len(s.waiting) == 0
}

// handedOut reports whether no further simulation may start, and of a search that
// goes on how many leaves wait.
func (s *Search) handedOut() (all bool, waiting uint32) {
	if s.over != chess.NotOver || s.stop.stopped {
		return true, 0
	}
	root := &s.t.nodes[0]
	s.t.hold(root)
	n, waiting := root.n, uint32(root.vl)
	s.t.release(root)
	return n+waiting >= s.target || n > 0 && s.cfg.MaxNodes > 0 && s.t.size() >= s.cfg.MaxNodes, waiting
}

// Counts returns the simulations so far, those of earlier moves and games too.
func (s *Search) Counts() Counts { return s.counts }

// Deepest returns the plies from the root to the deepest end of a simulation
// since Begin.
func (s *Search) Deepest() int { return s.deepest }

// end backs a simulation up that ended at node i, and notes its depth.
func (s *Search) end(path []step, i int32) {
	s.backup(path, i)
	s.counts.DepthSum += uint64(len(path))
	s.deepest = max(s.deepest, len(path))
}

// Gather runs simulations and appends the leaves that need the network to b,
// until limit rows were appended, the search is done, or the next leaf waits
// already; it returns the rows appended. Simulations that end without the
// network (game over, prober, cache) are backed up at once. Rows of several
// calls may wait together if they are in the same batch.
//
// With limit 1 the tree does not depend on the cache; with more, leaves that
// wait and leaves that are known shape it differently.
func (s *Search) Gather(b *encoding.Batch, limit int) int {
	return s.GatherSome(b, limit, math.MaxInt)
}

// GatherSome is Gather that also returns after so many simulations, for a driver
// of a search without a limit of visits: where every line is decided, no
// simulation needs the network, and Gather would not return.
func (s *Search) GatherSome(b *encoding.Batch, limit, simulations int) int {
	s.t.enter()
	defer s.t.leave()
	rows := 0
	for ; rows < limit && simulations > 0; simulations-- {
		if all, _ := s.handedOut(); all {
			break
		}
		if s.t.crew != nil {
			s.t.makeRoom()
		}
		switch s.simulate(b) {
		case simWaits:
			rows++
		case simCollided:
			return rows
		default:
			if s.stop.on {
				s.checkStops()
			}
		}
	}
	return rows
}

// Apply takes the evaluator's answers to the rows that this search appended to
// b since the last Apply: it expands their nodes and backs their values up.
func (s *Search) Apply(b *encoding.Batch) {
	s.t.enter()
	defer s.t.leave()
	for i := range s.waiting {
		l := &s.waiting[i]
		prior, wdl, m := b.PriorOf(int(l.row)), b.WDL[l.row], b.M[l.row]
		if s.cache != nil {
			s.cache.remember(l.key, prior, wdl, m)
		}
		s.expand(l.node, prior, wdl, m)
		s.counts.Expanded++
		s.end(s.steps[l.from:l.to], l.node)
	}
	s.waiting, s.steps = s.waiting[:0], s.steps[:0]
	s.checkStops()
}

// Cancel forgets the leaves that wait, as if they had never been chosen: for a
// caller that stops without an evaluation. Their rows must not be applied.
func (s *Search) Cancel() {
	s.t.enter()
	defer s.t.leave()
	for i := len(s.waiting) - 1; i >= 0; i-- {
		l := &s.waiting[i]
		s.undo(s.steps[l.from:l.to], l.node, true)
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
