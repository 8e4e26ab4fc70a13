package mcts

// expand gives node i, which has choices without priors, the network's answer:
// prior beside its choices in generation order, wdl and m from its own view.
func (s *Search) expand(i int32, prior []float32, wdl [3]float32, m float32) {
	n := &s.t.nodes[i]
	sum := wdl[0] + wdl[1] + wdl[2] // 1 but for the rounding of the network's backend
	n.rawQ, n.rawD, n.rawM = (wdl[0]-wdl[2])/sum, wdl[1]/sum, m
	choices := s.t.choicesOf(n)
	for k := range choices {
		choices[k].prior = prior[k]
	}
	if s.exponent != 1 {
		temper(choices, s.exponent)
	}
	s.t.become(n, kindExpanded)
	if i == 0 {
		s.openRoot()
	}
}

// backup adds one visit to node i, where a simulation ended, and to all nodes
// of the path to it. The value changes sign at each ply and M grows by one. A
// node that becomes proven on the way takes its proven value for all its
// visits, and the nodes above it are corrected.
func (s *Search) backup(path []step, i int32) {
	n := &s.t.nodes[i]
	s.t.hold(n)
	n.vl--
	n.n++
	v, d, m := n.leafValue()
	n.w, n.d, n.m = n.w+v, n.d+d, n.m+m
	square := float32(v * v)
	n.addSquare(square)
	dw, dd, dm := v, d, m // change of the child's sums
	childN, childW, childProven := n.n, n.w, n.proven
	s.t.release(n)
	for k := len(path) - 1; k >= 0; k-- {
		p := &s.t.nodes[path[k].node]
		s.t.hold(p)
		e := s.t.at(path[k])
		dw, dm = -dw, dm+1
		if p.proven != Unproven && path[k].node != 0 { // proven while the leaf waited
			dw, dd, dm = p.proven.q(), p.proven.d(), float64(p.extra)
		}
		p.vl--
		e.vl--
		p.n++
		p.w, p.d, p.m = p.w+dw, p.d+dd, p.m+dm
		p.addSquare(square)
		if childN > e.n { // else another of a crew was here with later news
			e.n, e.q = childN, float32(-childW/float64(childN))
		}
		if childProven != Unproven {
			e.proven = childProven.flip()
			cw, cd, cm := s.prove(p, e.proven, path[k].node == 0)
			dw, dd, dm = dw+cw, dd+cd, dm+cm
		}
		childN, childW, childProven = p.n, p.w, p.proven
		s.t.release(p)
	}
}

// addSquare counts the squared value of the latest of n's visits.
func (n *node) addSquare(square float32) {
	if n.proven == Unproven {
		n.extra += (square - n.extra) / float32(n.n)
	}
}

// leafValue returns what one more visit of a leaf is worth, from its own view.
func (n *node) leafValue() (v, d, m float64) {
	if n.kind == kindExpanded && n.proven != Unproven { // proven by its children
		return n.proven.q(), n.proven.d(), float64(n.extra)
	}
	return float64(n.rawQ), float64(n.rawD), float64(n.rawM)
}

// undo takes back what descend counted, and that the leaf waits if it is the one
// that was to be evaluated.
func (s *Search) undo(path []step, i int32, leaf bool) {
	n := &s.t.nodes[i]
	s.t.hold(n)
	n.vl--
	if leaf {
		n.kind = kindNew
	}
	s.t.release(n)
	for _, st := range path {
		n := &s.t.nodes[st.node]
		s.t.hold(n)
		n.vl--
		s.t.at(st).vl--
		s.t.release(n)
	}
}

// prove looks whether p is decided, one of its moves being proven as latest. It
// returns the change of p's sums. The root's sums stay what was visited.
func (s *Search) prove(p *node, latest Proven, root bool) (dw, dd, dm float64) {
	if p.proven != Unproven && !root {
		return 0, 0, 0
	}
	result, m := s.decided(p, latest)
	if result == Unproven {
		return 0, 0, 0
	}
	p.proven, p.extra = result, m
	if root {
		return 0, 0, 0
	}
	n := float64(p.n)
	w, d, ms := float64(n*result.q()), float64(n*result.d()), float64(n*float64(m))
	dw, dd, dm = w-p.w, d-p.d, ms-p.m
	p.w, p.d, p.m = w, d, ms
	return dw, dd, dm
}

// decided returns p's proven outcome and the plies to it: a win by its shortest
// winning move; if every move is proven the best of them, by the longest way.
func (s *Search) decided(p *node, latest Proven) (Proven, float32) {
	best, m := Unproven, float32(0)
	if p.touched < p.num && latest != ProvenWin {
		return Unproven, 0
	}
	for k := range s.t.edgesOf(p) {
		e := &s.t.edges[int(p.edges)+k]
		if e.proven == Unproven {
			if latest != ProvenWin && best != ProvenWin {
				return Unproven, 0
			}
			continue
		}
		em := s.t.nodes[e.child].extra + 1
		switch {
		case e.proven > best:
			best, m = e.proven, em
		case e.proven == best && best == ProvenWin:
			m = min(m, em)
		case e.proven == best:
			m = max(m, em)
		}
	}
	return best, m
}
