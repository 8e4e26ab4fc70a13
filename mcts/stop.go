package mcts

// stopper decides, from finished visits only, that a search may end before its
// limits. Once a search has stopped it stays so.
type stopper struct {
	on      bool
	stopped bool
	older   []uint32 // visits of the root's moves at the last look
	olderN  uint32   // their sum
	visits  []uint32 // scratch
}

// watchStops prepares the stops of a search that begins now.
func (s *Search) watchStops() {
	c := &s.cfg.Stop
	s.stop.on, s.stop.stopped = c.SmartPruning || c.KLDGain > 0, false
	s.stop.olderN = 0
	s.checkStops()
}

// checkStops notes whether the search may end; it is called after every backup.
func (s *Search) checkStops() {
	if !s.stop.on || s.stop.stopped || s.over != 0 {
		return
	}
	root := &s.t.nodes[0]
	s.t.hold(root)
	defer s.t.release(root)
	if root.kind != kindExpanded {
		return
	}
	edges := s.t.edgesOf(root)
	if s.cfg.Stop.SmartPruning {
		s.stop.stopped = root.proven != Unproven || len(edges) == 1 && root.n > 1 || s.settled(root, edges)
	}
	if s.cfg.Stop.KLDGain > 0 && !s.gumbel.Enabled && root.n > 0 {
		s.stop.stopped = s.stop.stopped || s.gainTooSmall(root.n-1, edges)
	}
}

// settled reports whether no move can catch up with the most visited in the
// visits that a PUCT search still has, those that wait included. Proven losses
// are not played and count for nothing.
func (s *Search) settled(root *node, edges []edge) bool {
	if s.target == unlimited || s.gumbel.Enabled || root.n >= s.target {
		return false
	}
	first, second := uint32(0), uint32(0)
	for k := range edges {
		e := &edges[k]
		switch {
		case e.proven == ProvenLoss, s.barred.has(k):
		case e.n > first:
			first, second = e.n, first
		case e.n > second:
			second = e.n
		}
	}
	return first-second > s.target-root.n
}

// kldInterval is how many visits are looked at together, as in lc0.
const kldInterval = 100

// gainTooSmall looks at the visits every kldInterval of them and reports whether
// the divergence KL(older || newer), divided by the visits in between, is below
// KLDGain. sum is the visits of all edges.
func (s *Search) gainTooSmall(sum uint32, edges []edge) bool {
	st := &s.stop
	if st.olderN > 0 && sum < st.olderN+kldInterval {
		return false
	}
	st.visits = resize(st.visits, len(edges))
	for k := range edges {
		st.visits[k] = edges[k].n
	}
	small := false
	if st.olderN > 0 {
		small = divergence(st.older, st.visits)/float64(sum-st.olderN) < s.cfg.Stop.KLDGain
	}
	st.older, st.visits, st.olderN = st.visits, st.older, sum
	return small
}

// divergence returns KL(p || q) in nats of two visit distributions, not empty;
// q has visits wherever p has.
func divergence(p, q []uint32) float64 {
	var sumP, sumQ float64
	for k := range p {
		sumP += float64(p[k])
		sumQ += float64(q[k])
	}
	kl := 0.0
	for k := range p {
		if p[k] != 0 {
			share := float64(p[k]) / sumP
			kl += float64(share * ln(share*sumQ/float64(q[k])))
		}
	}
	return kl
}
