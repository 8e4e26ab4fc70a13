package mcts

import "github.com/chessbrain/chessbrain/chess"

// Advance plays m, a legal move of the root, on the line. The subtree of m
// becomes the tree, without what was true only of the old root; everything else
// is freed. Leaves that still wait are cancelled.
func (s *Search) Advance(m chess.Move) {
	s.Cancel()
	child := none
	for _, e := range s.t.edgesOf(&s.t.nodes[0]) {
		if e.move == m {
			child = e.child
		}
	}
	s.h.Push(m)
	if child == none || s.t.nodes[child].kind != kindExpanded {
		s.DropTree()
		return
	}
	s.spare.reset()
	s.copyNode(child, 0)
	s.t, s.spare = s.spare, s.t
	s.atRoot()
	s.t.openRoot()
	s.recount()
}

// change is a difference of a node's sums.
type change struct {
	n       uint32
	w, d, m float64
}

// copyNode copies node i and all below it into the spare tree and returns its
// new index and what its sums lost: draws by a repetition of a position that is
// no longer in the search path are visited afresh. depth is i's distance to the
// new root in plies.
func (s *Search) copyNode(i int32, depth int) (int32, change) {
	to := s.spare.addNode()
	s.spare.nodes[to] = s.t.nodes[i]
	old := s.t.edgesOf(&s.t.nodes[i])
	choices := s.t.choicesOf(&s.t.nodes[i])
	first, edges := s.spare.addChoices(len(choices)), s.spare.addEdges(edgeRoom(len(old)))
	s.spare.nodes[to].first, s.spare.nodes[to].edges = first, edges
	copy(s.spare.choices[first:], choices)
	var lost change
	for k := range old {
		if old[k].child == none {
			s.spare.edges[int(edges)+k] = old[k]
			continue
		}
		c := s.t.nodes[old[k].child] // before the loss
		e := edge{prior: old[k].prior, child: none, move: old[k].move, index: old[k].index}
		var l change
		switch {
		case c.n == 0:
		case c.kind == kindTwofold && int(c.cycle) > depth+1:
			l = change{c.n, c.w, c.d, c.m}
		default:
			e = old[k]
			e.child, l = s.copyNode(old[k].child, depth+1)
			copied := &s.spare.nodes[e.child]
			e.n, e.q = copied.n, float32(-copied.w/float64(copied.n))
		}
		s.spare.edges[int(edges)+k] = e
		lost = change{lost.n + l.n, lost.w - l.w, lost.d + l.d, lost.m + l.m + float64(l.n)}
	}
	n := &s.spare.nodes[to]
	if n.proven != Unproven && depth > 0 { // its sums are those of its outcome
		return to, change{}
	}
	n.n -= lost.n
	n.w, n.d, n.m = n.w-lost.w, n.d-lost.d, n.m-lost.m
	return to, lost
}

// recount makes the new root's sums those of its own answer and its moves: they
// may have been those of a proven outcome.
func (s *Search) recount() {
	root := &s.t.nodes[0]
	root.n, root.w, root.d, root.m = 1, float64(root.rawQ), float64(root.rawD), float64(root.rawM)
	for _, e := range s.t.edgesOf(root) {
		if e.n == 0 {
			continue
		}
		c := &s.t.nodes[e.child]
		root.n += e.n
		root.w -= c.w
		root.d += c.d
		root.m += c.m + float64(e.n)
	}
}
