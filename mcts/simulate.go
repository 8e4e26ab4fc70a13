package mcts

import (
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// outcome is how a simulation ended.
type outcome uint8

const (
	simBackedUp outcome = iota
	simCached           // backed up with the cache's answer
	simWaits            // its leaf is a row of the batch now
	simCollided         // its leaf waits already; nothing was changed
)

// simulate walks from the root to a leaf and evaluates it or puts it into b.
func (s *Search) simulate(b *encoding.Batch) outcome {
	i, was := s.descend()
	if i == none {
		return simCollided
	}
	out := s.reach(i, was, b)
	s.h.Truncate(s.rootLen)
	switch out {
	case simBackedUp:
		s.counts.Terminal++
		s.end(s.path, i)
	case simCached:
		s.counts.Cached++
		s.end(s.path, i)
	case simCollided:
		s.undo(s.path, i, false)
	case simWaits:
		l := &s.waiting[len(s.waiting)-1]
		l.from = int32(len(s.steps))
		s.steps = append(s.steps, s.path...)
		l.to = int32(len(s.steps))
	}
	return out
}

// descend selects down to a node that is not expanded, or that is proven, and
// returns it and what it was; a new one waits from then on. The path is in s.path,
// its moves are played on the line, and its nodes and edges count one more waiting
// simulation. It returns none where others of a crew have begun the last visits.
func (s *Search) descend() (i int32, was kind) {
	s.path = s.path[:0]
	for {
		n := &s.t.nodes[i]
		s.t.hold(n)
		if n.kind != kindExpanded || n.proven != Unproven && i != 0 {
			n.vl++
			if was = n.kind; was == kindNew {
				n.kind = kindPending
			}
			s.t.release(n)
			return i, was
		}
		var k int
		switch {
		case i == 0:
			if n.n+uint32(n.vl) >= s.target {
				s.t.release(n)
				return none, was
			}
			k = s.selectRoot()
		case s.gumbel.Enabled:
			k = s.gumbel.selectEdge(s.t, n)
		default:
			k = s.selectEdge(i)
		}
		n.vl++
		at := n.edges + int32(k)
		if s.t.edges[at].child == none {
			child := s.t.addNode()
			s.t.edges[at].child = child
		}
		e := &s.t.edges[at]
		e.vl++
		move, child := e.move, e.child
		s.t.release(n)
		s.t.prefetchNode(child)
		s.path = append(s.path, step{i, int32(k)})
		s.h.Push(move)
		i = child
	}
}

// reach gives node i, at which a simulation ended, its value, if that can be had
// without the network, and otherwise appends it to b. was is what the node was.
func (s *Search) reach(i int32, was kind, b *encoding.Batch) outcome {
	n := &s.t.nodes[i]
	switch {
	case was == kindPending:
		return simCollided
	case was != kindNew:
		return simBackedUp // over, probed, twofold, or proven
	}
	s.t.prefetchChoices()
	s.h.Board().GenerateMoves(&s.list)
	if i != 0 && s.terminal(n) {
		return simBackedUp
	}
	row := encoding.AppendPosition(b, s.h, &s.list)
	var k key
	if s.cache != nil {
		k = keyOf(&b.Masks[row], &b.Scalars[row], &s.list, s.cfg.CacheBoards)
		s.cache.prefetch(k)
	}
	s.t.addMoves(i, s.list.Slice())
	if s.cache != nil {
		if prior, wdl, m, ok := s.cache.lookUp(k, s.list.N, &s.prior); ok {
			b.DropLast()
			s.expand(i, prior, wdl, m)
			return simCached
		}
	}
	s.waiting = append(s.waiting, leaf{row: int32(row), node: i, key: k})
	return simWaits
}

// terminal decides whether the line's newest position, below the root, is a
// leaf for good, and gives n its value then.
func (s *Search) terminal(n *node) bool {
	at := s.h.Len() - 1
	board := s.h.Board()
	if over := s.h.Terminal(s.list.N); over != chess.NotOver {
		outcome := ProvenDraw
		if over == chess.Checkmate {
			outcome = ProvenLoss
		}
		n.settle(outcome, 0)
		s.t.become(n, kindOver)
		return true
	}
	if s.cfg.TwofoldDraw {
		if r := s.h.RepetitionAt(at); r >= s.rootLen-1 {
			n.cycle = uint8(at - r)
			n.rawQ, n.rawD, n.rawM = 0, 1, s.guessM()
			s.t.become(n, kindTwofold)
			return true
		}
	}
	if s.cfg.Prober == nil || board.Rule50() != 0 || board.MayCastle() {
		return false
	}
	wdl, ok := s.cfg.Prober.Probe(board)
	if !ok {
		return false
	}
	n.settle([...]Proven{ProvenLoss, ProvenDraw, ProvenWin}[wdl+1], s.guessM())
	s.t.become(n, kindProbed)
	return true
}

// settle gives a leaf its outcome, m plies from the end.
func (n *node) settle(outcome Proven, m float32) {
	n.proven, n.extra = outcome, m
	n.rawQ, n.rawD, n.rawM = float32(outcome.q()), float32(outcome.d()), m
}

// guessM returns the plies left of a leaf whose value says nothing about them:
// one less than the network's answer for its parent.
func (s *Search) guessM() float32 {
	parent := s.path[len(s.path)-1].node
	return max(0, s.t.nodes[parent].rawM-1)
}
