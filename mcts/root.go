package mcts

import (
	"cmp"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// MoveStats says what the search knows of a root move; the values are from the
// view of the side that plays it.
type MoveStats struct {
	Move   chess.Move
	N      uint32  // visits
	P      float32 // the network's prior, without noise
	Q      float32 // in [-1,1]; 0 without visits, like D and M
	D      float32 // draw probability
	M      float32 // plies left, this move included
	Proven Proven

	variance float64 // of the values of the visits; of few visits nearer to usualVariance
}

// QDM returns the move's value, unknown if it was never visited.
func (m *MoveStats) QDM() encoding.QDM {
	if m.N == 0 {
		return encoding.UnknownQDM
	}
	return encoding.QDM{Q: m.Q, D: m.D, M: m.M}
}

// RootStats says what the search knows of its root.
type RootStats struct {
	Moves  []MoveStats    // legal moves in generation order; owned by the search, valid until its next call
	N      uint32         // visits: the moves' and one of its own; 0 = nothing known yet
	Value  encoding.QDM   // mean over the visits, or the proven outcome; unknown if N = 0
	Raw    encoding.QDM   // the network's answer for the root; unknown if N = 0
	Best   int            // ordinal of the move to play without temperature, -1 without moves
	Proven Proven         // the root's outcome, if the search proved it
	Over   chess.Terminal // how the game is over here, if it is

	// Target is the policy target beside Moves, summing to 1, where it is not
	// the visits themselves: Gumbel's improved policy, or the visits without
	// the forced ones that PUCT would not have made. Else, and while N = 0, it
	// is nil. Owned and valid like Moves.
	Target []float32
}

// Visits returns the root's visits and its outcome, if the search proved it, as in Root.
func (s *Search) Visits() (n uint32, outcome Proven) {
	s.t.enter()
	defer s.t.leave()
	root := &s.t.nodes[0]
	s.t.hold(root)
	defer s.t.release(root)
	if root.kind != kindExpanded {
		return 0, Unproven
	}
	return root.n, root.proven
}

// Root returns what is known now; it may be asked in the middle of a search.
func (s *Search) Root() RootStats {
	s.t.enter()
	defer s.t.leave()
	root := &s.t.nodes[0]
	s.t.hold(root)
	defer s.t.release(root)
	r := RootStats{Best: -1, Value: encoding.UnknownQDM, Raw: encoding.UnknownQDM}
	s.moves = s.moves[:0]
	if root.kind != kindExpanded {
		s.h.Board().GenerateMoves(&s.list)
		r.Over = s.h.Terminal(s.list.N)
		if r.Over == chess.NotOver {
			for _, m := range s.list.Slice() {
				s.moves = append(s.moves, MoveStats{Move: m})
			}
			r.Best = bestMove(s.moves, s.barred)
		}
		r.Moves = s.moves
		return r
	}
	edges := s.t.edgesOf(root)
	s.moves = resize(s.moves, len(edges))
	for k := range edges {
		s.moves[edges[k].index] = s.moveStats(&edges[k])
	}
	r.Moves, r.N, r.Proven = s.moves, root.n, root.proven
	r.Raw = encoding.QDM{Q: root.rawQ, D: root.rawD, M: root.rawM}
	n := float64(root.n)
	r.Value = encoding.QDM{Q: float32(root.w / n), D: float32(root.d / n), M: float32(root.m / n)}
	if root.proven != Unproven {
		r.Value = encoding.QDM{Q: float32(root.proven.q()), D: float32(root.proven.d()), M: root.extra}
	}
	r.Best = bestMove(s.moves, s.barred)
	if s.cfg.LCB > 0 && !s.gumbel.Enabled && r.Best >= 0 {
		r.Best = surest(s.moves, s.barred, r.Best, s.cfg.LCB)
	}
	s.policyT = resize(s.policyT, len(edges))
	switch {
	case s.gumbel.Enabled:
		s.gumbel.target(s.policyT, root.rawQ, edges)
		r.Target = s.policyT
		if s.begun && s.moves[r.Best].Proven != ProvenWin {
			// Before Begin there is neither noise nor a schedule.
			if best := s.gumbel.bestMove(root.rawQ, edges); best >= 0 {
				r.Best = best
			}
		}
	case s.begun && s.forced && s.pruned(s.policyT):
		r.Target = s.policyT
	}
	return r
}

func (s *Search) moveStats(e *edge) MoveStats {
	st := MoveStats{Move: e.move, N: e.n, P: e.prior, Proven: e.proven}
	if e.n == 0 {
		return st
	}
	c := &s.t.nodes[e.child]
	s.t.hold(c)
	defer s.t.release(c)
	n := float64(c.n)
	st.Q, st.D, st.M = e.q, float32(c.d/n), float32(c.m/n)+1
	if c.proven == Unproven {
		mean := c.w / n
		known := float64(n * max(0, float64(c.extra)-float64(mean*mean)))
		st.variance = (known + stdevVisits*usualVariance) / (n + stdevVisits)
	}
	return st
}

// usualVariance is that of values that nothing is known of: 0.4 squared.
const usualVariance = 0.16

// lcbShare is how many visits of a move surest asks for: a share of the most.
const lcbShare = 0.15

// surest returns the ordinal of the move whose Q less so many standard errors is highest, of
// those with enough visits, where best, the most visited one, is not proven.
func surest(moves []MoveStats, barred barring, best int, errors float64) int {
	enough := lcbShare * float64(moves[best].N)
	if moves[best].Proven != Unproven || enough == 0 {
		return best
	}
	highest := math.Inf(-1)
	for i := range moves {
		m := &moves[i]
		if barred.has(i) || m.Proven != Unproven || float64(m.N) < enough {
			continue
		}
		if bound := float64(m.Q) - float64(errors*math.Sqrt(m.variance/float64(m.N))); bound > highest {
			highest, best = bound, i
		}
	}
	return best
}

// bestMove returns the ordinal of the best of the moves that are not barred, -1 without
// any: the shortest proven win, else the most
// visited that is not a proven loss, else the longest proven loss. Of equals the
// higher Q, then the higher prior, then the first.
func bestMove(moves []MoveStats, barred barring) int {
	best := -1
	for i := range moves {
		if barred.has(i) {
			continue
		}
		if best < 0 || better(&moves[i], &moves[best]) {
			best = i
		}
	}
	return best
}

// Order appends to dst the ordinals of the moves that were visited, the best
// first, and returns it; Best leads them in any case.
func (r *RootStats) Order(dst []int) []int {
	if r.Best < 0 {
		return dst
	}
	from := len(dst)
	dst = append(dst, r.Best)
	for i := range r.Moves {
		if i != r.Best && r.Moves[i].N > 0 {
			dst = append(dst, i)
		}
	}
	slices.SortStableFunc(dst[from+1:], func(a, b int) int { return compare(&r.Moves[b], &r.Moves[a]) })
	return dst
}

// better says whether a is the move to play of the two.
func better(a, b *MoveStats) bool { return compare(a, b) > 0 }

// compare is above 0 where a is better than b.
func compare(a, b *MoveStats) int {
	plies := 0
	switch {
	case a.Proven == ProvenWin:
		plies = cmp.Compare(b.M, a.M)
	case a.Proven == ProvenLoss:
		plies = cmp.Compare(a.M, b.M)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), plies, cmp.Compare(a.N, b.N), cmp.Compare(a.Q, b.Q), cmp.Compare(a.P, b.P))
}

func rank(m *MoveStats) int {
	return [...]int{Unproven: 1, ProvenLoss: 0, ProvenDraw: 1, ProvenWin: 2}[m.Proven]
}

// PVOf appends the line that begins with the root's i-th move to dst, then the best
// move of each node in turn, each from its mover's view; nothing where the root has no
// evaluation yet.
func (s *Search) PVOf(dst []chess.Move, i int) []chess.Move {
	s.t.enter()
	defer s.t.leave()
	var e edge
	root := &s.t.nodes[0]
	s.t.hold(root)
	known := root.kind == kindExpanded
	if known {
		e = s.t.edgesOf(root)[i]
	}
	s.t.release(root)
	for known {
		if dst = append(dst, e.move); e.n == 0 {
			break
		}
		e, known = s.bestEdge(e.child)
	}
	return dst
}

// bestEdge returns the edge of the best move of node i that was visited, if one was.
func (s *Search) bestEdge(i int32) (best edge, ok bool) {
	n := &s.t.nodes[i]
	s.t.hold(n)
	defer s.t.release(n)
	var top MoveStats
	for _, e := range s.t.edgesOf(n) {
		if st := s.moveStats(&e); st.N > 0 && (!ok || better(&st, &top)) {
			top, best, ok = st, e, true
		}
	}
	return best, ok
}
