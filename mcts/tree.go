package mcts

import "github.com/chessbrain/chessbrain/chess"

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
func (p Proven) flip() Proven {
	switch p {
	case ProvenLoss:
		return ProvenWin
	case ProvenWin:
		return ProvenLoss
	}
	return p
}

// q returns the value of a proven outcome.
func (p Proven) q() float64 {
	switch p {
	case ProvenLoss:
		return -1
	case ProvenWin:
		return 1
	}
	return 0
}

// d returns the draw probability of a proven outcome.
func (p Proven) d() float64 {
	if p == ProvenDraw {
		return 1
	}
	return 0
}

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
	provenM    float32 // plies to the end, if proven
	n          uint32  // visits
	first      int32   // index of its first edge
	num        uint16  // number of edges
	touched    uint16  // edges [0,touched) were selected once; the others wait in no order
	vl         uint16  // leaves below (or this one) that wait for evaluation
	cycle      uint16  // kindTwofold: plies since the position that it repeats
	kind       kind
	proven     Proven
	ready      bool // edge [touched] has the largest prior of those that wait
}

// edge is a move of a node. Values are from the view of the side that plays it.
// n, q and proven repeat what the child says, so that selection reads edges only.
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

// tree is the arena of one search. Indices stay valid until it is compacted.
type tree struct {
	nodes []node
	edges []edge
}

func (t *tree) reset() {
	t.nodes = t.nodes[:0]
	t.edges = t.edges[:0]
}

// addNode appends an unvisited node and returns its index.
func (t *tree) addNode() int32 {
	t.nodes = append(t.nodes, node{})
	return int32(len(t.nodes) - 1)
}

// addEdges gives node i an edge for each move, without priors.
func (t *tree) addEdges(i int32, moves []chess.Move) {
	first := len(t.edges)
	n := &t.nodes[i]
	n.first, n.num, n.touched, n.ready = int32(first), uint16(len(moves)), 0, false
	for k, m := range moves {
		t.edges = append(t.edges, edge{child: none, move: m, index: uint8(k)})
	}
}

// edgesOf returns the edges of n.
func (t *tree) edgesOf(n *node) []edge {
	return t.edges[n.first : int(n.first)+int(n.num)]
}
