package mcts

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/chessbrain/chessbrain/chess"
)

// Proven is an outcome that needs no more search.
type Proven uint8

const (
	Unproven Proven = iota
	ProvenLoss
	ProvenDraw
	ProvenWin
)

// String returns the outcome's name.
func (p Proven) String() string {
	return [...]string{"unproven", "loss", "draw", "win"}[p&3]
}

// flip returns the outcome from the other side's view.
func (p Proven) flip() Proven { return [...]Proven{Unproven, ProvenWin, ProvenDraw, ProvenLoss}[p&3] }

// q returns the value of a proven outcome.
func (p Proven) q() float64 { return [...]float64{0, -1, 0, 1}[p&3] }

// d returns the draw probability of a proven outcome.
func (p Proven) d() float64 { return [...]float64{0, 0, 1, 0}[p&3] }

// kind says what a node is.
type kind uint8

const (
	kindNew      kind = iota // never evaluated
	kindPending              // its row is in a batch
	kindExpanded             // has edges with priors
	kindOver                 // the game is over here by the rules
	kindProbed               // the prober knows the outcome
	kindTwofold              // repeats a position of the search path
)

// none is the index of no node.
const none int32 = -1

// node is a position of the tree. Sums and values are from the view of its side
// to move. For an expanded node that is not proven, n = 1 + the n of its edges.
type node struct {
	w, d, m    float64 // sums of Q, D and M over the visits
	rawQ, rawD float32 // the network's answer, or the outcome of a terminal node
	rawM       float32
	extra      float32 // proven: plies to the end; else the mean of the squared values of the visits
	n          uint32  // visits
	first      int32   // index of its first choice
	edges      int32   // index of its first edge; its room is for edgeRoom(touched)
	held       uint32  // 1 = a member of a crew works on it, see tree.hold
	vl         uint16  // leaves below (or this one) that wait for evaluation
	num        uint8   // number of moves
	touched    uint8   // number of edges: moves that were selected once
	cycle      uint8   // kindTwofold: plies since the position that it repeats
	kind       kind
	proven     Proven
	ready      bool // choice [touched] has the largest prior of those without an edge
}

// edge is a move of a node that was selected once, or any move of the root.
// Values are from the view of the side that plays it. n, q and proven repeat
// what the child says, so that selection reads edges only.
type edge struct {
	prior  float32
	q      float32
	n      uint32
	child  int32
	move   chess.Move
	vl     uint16 // simulations below that wait for evaluation
	index  uint8  // place in generation order
	proven Proven
}

// choice is any move of a node. Most moves are never selected: a new node is
// read and written in the third of the memory that its edges would take.
type choice struct {
	prior float32
	move  chess.Move
	index uint8 // place in generation order
}

// rank orders choices by prior, then by generation order, the first highest. The
// bits of floats that are not negative are ordered as the floats are.
func (c *choice) rank() uint64 {
	return uint64(math.Float32bits(c.prior))<<8 | uint64(^c.index)
}

// tree is the arena of one search. Indices of nodes stay valid until it is
// compacted; a node's edges move to a larger room when theirs is full, so that
// they are named by their node and their place in it. The choices beside a
// node's edges are the same moves. The edges of a root that is expanded are all
// there, in generation order, and its choices mean nothing then.
type tree struct {
	nodes   []node
	edges   []edge
	choices []choice
	crew    *crew // nil = one goroutine searches
}

func (t *tree) reset() {
	t.nodes = t.nodes[:0]
	t.edges = t.edges[:0]
	t.choices = t.choices[:0]
}

// reserve makes room for so many nodes with a usual number of moves.
func (t *tree) reserve(nodes int) {
	t.nodes = lengthen(t.nodes, nodes)
	t.edges = lengthen(t.edges, 4*nodes)
	t.choices = lengthen(t.choices, 40*nodes)
}

// lengthen returns s with room for n elements at least. The operating system lends
// such memory when it is first written: slices.Grow would write it.
func lengthen[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s
	}
	return append(make([]T, 0, n), s...)
}

// addNode appends an unvisited node and returns its index.
func (t *tree) addNode() int32 {
	if t.crew == nil {
		t.nodes = append(t.nodes, node{})
		return int32(len(t.nodes) - 1)
	}
	i := take(&t.crew.nodes, 1)
	t.nodes[i] = node{}
	return i
}

// edgeRoom returns the room that so many edges of a node have: doubled when full.
func edgeRoom(touched int) int {
	if touched == 0 {
		return 0
	}
	return max(4, 1<<bits.Len(uint(touched-1)))
}

// extend appends room for n elements, which it does not write, and returns s
// and where the room begins.
func extend[T any](s []T, n int) ([]T, int32) {
	first := len(s)
	return slices.Grow(s, n)[:first+n], int32(first)
}

// addChoices and addEdges append room for so many, which they do not write, and
// return where it begins.
func (t *tree) addChoices(n int) (first int32) {
	if t.crew != nil {
		return take(&t.crew.choices, n)
	}
	t.choices, first = extend(t.choices, n)
	return first
}

func (t *tree) addEdges(n int) (first int32) {
	if t.crew != nil {
		return take(&t.crew.edges, n)
	}
	t.edges, first = extend(t.edges, n)
	return first
}

// addMoves gives node i a choice for each move, without priors.
func (t *tree) addMoves(i int32, moves []chess.Move) {
	n := &t.nodes[i]
	n.first = t.addChoices(len(moves))
	n.num, n.edges, n.touched, n.ready = uint8(len(moves)), 0, 0, false
	choices := t.choicesOf(n)
	for k, m := range moves {
		choices[k] = choice{move: m, index: uint8(k)}
	}
}

// prefetchNode and prefetchChoices have memory fetched that is needed a moment later: a
// node, and where the next new node's choices go. Of most trees neither is in a near cache.
func (t *tree) prefetchNode(i int32) { prefetchLines(unsafe.Pointer(&t.nodes[i]), 1) }

func (t *tree) prefetchChoices() {
	const usual = 40 // choices
	if c := t.choices; len(c) < cap(c) {
		prefetchLines(unsafe.Pointer(unsafe.SliceData(c[len(c):cap(c)])), usual*int(unsafe.Sizeof(choice{}))/64)
	}
}

// edgesOf returns the edges of n.
func (t *tree) edgesOf(n *node) []edge {
	return t.edges[n.edges : int(n.edges)+int(n.touched)]
}

// at returns the edge of a step.
func (t *tree) at(st step) *edge { return &t.edges[t.nodes[st.node].edges+st.edge] }

// choicesOf returns the moves of n.
func (t *tree) choicesOf(n *node) []choice {
	return t.choices[n.first : int(n.first)+int(n.num)]
}

// next returns the choice of n with the largest prior of those that have no
// edge, of which there is one; of equal ones the first in generation order.
func (t *tree) next(n *node) *choice {
	left := t.choicesOf(n)[n.touched:]
	if n.ready {
		return &left[0]
	}
	best, bestRank := 0, left[0].rank()
	for k := 1; k < len(left); k++ {
		if r := left[k].rank(); r > bestRank {
			best, bestRank = k, r
		}
	}
	left[0], left[best] = left[best], left[0]
	n.ready = true
	return &left[0]
}

// touch makes next an edge and returns its place in edgesOf.
func (t *tree) touch(n *node) int {
	k := int(n.touched)
	if k == edgeRoom(k) {
		t.moveEdges(n, edgeRoom(k+1))
	}
	c := t.next(n)
	t.edges[int(n.edges)+k] = edge{prior: c.prior, child: none, move: c.move, index: c.index}
	n.touched++
	n.ready = false
	return k
}

// moveEdges moves n's edges to new room for so many.
func (t *tree) moveEdges(n *node, room int) {
	old := n.edges
	n.edges = t.addEdges(room)
	copy(t.edges[n.edges:], t.edges[old:int(old)+int(n.touched)])
}

// openRoot makes all moves of the root edges, in generation order.
func (t *tree) openRoot() {
	n := &t.nodes[0]
	if n.touched < n.num {
		t.moveEdges(n, int(n.num))
		for k, c := range t.choicesOf(n)[n.touched:] {
			t.edges[int(n.edges)+int(n.touched)+k] = edge{prior: c.prior, child: none, move: c.move, index: c.index}
		}
		n.touched, n.ready = n.num, false
	}
	edges := t.edgesOf(n)
	for i := range edges {
		for k := int(edges[i].index); k != i; k = int(edges[i].index) {
			edges[i], edges[k] = edges[k], edges[i]
		}
	}
}
