package mcts

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/chess"
)

// A crew is several goroutines that search one tree, each with a Search of its
// own. The sums, edges and choices of a node belong to who holds it; what a new
// leaf gets before it is expanded, to who made it wait. Who holds a node may hold
// one below it, too, none above.
//
// While a crew works the tree's arrays have their full length, and how much of it
// is used is counted here.
type crew struct {
	members               int
	growth                sync.RWMutex // read by members at work; who makes the arrays longer writes
	nodes, edges, choices atomic.Int32 // used
}

// Split returns n more searches of the tree of s, whose root has been evaluated.
// Until Join each of them, and s, may be asked Done, Gather and Apply by a
// goroutine of its own, and s what it knows. The visits come out as the goroutines
// happen to run, but there are not more than the limits allow.
func (s *Search) Split(n int) []*Search {
	t := s.t
	c := &crew{members: n + 1}
	c.nodes.Store(int32(len(t.nodes)))
	c.edges.Store(int32(len(t.edges)))
	c.choices.Store(int32(len(t.choices)))
	t.crew = c
	t.nodes, t.edges, t.choices = whole(t.nodes), whole(t.edges), whole(t.choices)
	members := make([]*Search, n)
	for i := range members {
		m := *s
		m.h = chess.NewHistory(chess.StartBoard())
		m.h.CopyFrom(s.h)
		m.path, m.steps, m.waiting, m.moves, m.policyT, m.prior = nil, nil, nil, nil, nil, nil
		m.counts, m.stop = Counts{}, stopper{}
		members[i] = &m
	}
	return members
}

// Join ends what Split began: s alone has the tree, and counts what the others
// did. No goroutine may use them any more. Their leaves that wait are cancelled.
func (s *Search) Join(others []*Search) {
	for _, m := range others {
		m.Cancel()
		s.counts.add(m.counts)
		s.deepest = max(s.deepest, m.deepest)
	}
	t, c := s.t, s.t.crew
	t.nodes, t.edges, t.choices = t.nodes[:c.nodes.Load()], t.edges[:c.edges.Load()], t.choices[:c.choices.Load()]
	t.crew = nil
}

// whole returns all of an array.
func whole[T any](s []T) []T { return s[:cap(s)] }

// take returns where the next n places of an array begin.
func take(used *atomic.Int32, n int) int32 { return used.Add(int32(n)) - int32(n) }

// enter and leave stand around what a member does with the tree, once.
func (t *tree) enter() {
	if t.crew != nil {
		t.crew.growth.RLock()
	}
}

func (t *tree) leave() {
	if t.crew != nil {
		t.crew.growth.RUnlock()
	}
}

// makeRoom sees to it that each member of the crew has room for a simulation: for
// a node with all its moves, and for another's edges.
func (t *tree) makeRoom() {
	if t.roomy() {
		return
	}
	t.crew.growth.RUnlock()
	t.crew.growth.Lock()
	if !t.roomy() { // nobody was faster
		more := t.crew.members * chess.MaxMoves
		t.nodes = whole(lengthen(t.nodes, 2*len(t.nodes)+more))
		t.edges = whole(lengthen(t.edges, 2*len(t.edges)+more))
		t.choices = whole(lengthen(t.choices, 2*len(t.choices)+more))
	}
	t.crew.growth.Unlock()
	t.crew.growth.RLock()
}

func (t *tree) roomy() bool {
	c := t.crew
	n, m := c.members, c.members*chess.MaxMoves
	return int(c.nodes.Load())+n <= len(t.nodes) && int(c.edges.Load())+m <= len(t.edges) && int(c.choices.Load())+m <= len(t.choices)
}

// size returns the number of nodes.
func (t *tree) size() int {
	if t.crew != nil {
		return int(t.crew.nodes.Load())
	}
	return len(t.nodes)
}

// hold waits until no other member of a crew holds n.
func (t *tree) hold(n *node) {
	if t.crew != nil {
		n.hold()
	}
}

func (t *tree) release(n *node) {
	if t.crew != nil {
		atomic.StoreUint32(&n.held, 0)
	}
}

// become makes n, which its owner has filled, a node of a kind that others use.
func (t *tree) become(n *node, k kind) {
	t.hold(n)
	n.kind = k
	t.release(n)
}

// spins is how often a node is looked at before others may run: it is held for
// some hundred nanoseconds, unless its holder was interrupted.
const spins = 200

func (n *node) hold() {
	for i := 0; !atomic.CompareAndSwapUint32(&n.held, 0, 1); i++ {
		if i >= spins {
			runtime.Gosched()
		}
	}
}
