package arena

import (
	"time"

	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/mcts"
)

// A search that only its time ends is begun again and again with a few more
// visits, because a search may make visits that ask nothing of the net, and
// looks at no clock while it does. It never grows beyond maxTimedVisits, at about
// a kilobyte each.
const (
	timedSlice     = 256
	maxTimedVisits = 400_000
)

func (p *netPlayer) Limits() Limits { return p.cfg.Limits }
func (p *netPlayer) OneGame() bool  { return p.cfg.Limits.Timed() }

// Clocks settles what the next move may take: of a clock an even share for 30
// more moves and most of the increment, but never more than half of it.
func (s *netSeat) Clocks(c Clocks) {
	l := &s.table.cfg.Limits
	s.budget = l.MoveTime
	if l.Base > 0 {
		left := c.Left[s.color]
		s.budget = max(1, min(left/30+l.Increment*3/4, left/2))
	}
}

func (s *netSeat) Spent() time.Duration { return s.spent }

// Score returns the root's value in the centipawns that the net shows a GUI.
func (s *netSeat) Score() (int, bool) { return s.score, s.scored }

// begin starts the search of the next move.
func (s *netSeat) begin() {
	s.began = s.table.now()
	if !s.untilTime() {
		s.search.Begin(s.rng, false)
		return
	}
	s.slice(int(s.search.Root().N))
}

// slice begins the search anew, for so many visits more than it has.
func (s *netSeat) slice(visits int) {
	s.want = visits + timedSlice
	s.search.BeginLimits(s.rng, false, mcts.Limits{Simulations: s.want})
}

// untilTime reports whether nothing but time ends the search.
func (s *netSeat) untilTime() bool {
	return s.settings.Search.Simulations == 0 && s.settings.Search.Playouts == 0
}

// timeUp reports whether the search has had its time, and knows a move.
func (s *netSeat) timeUp() bool {
	return s.budget > 0 && s.table.now().Sub(s.began) >= s.budget && s.search.Root().N > 0
}

// goOn gives a search that is done another slice of visits, if only time ends it,
// no stop of its own has ended it, and more visits can change something.
func (s *netSeat) goOn() bool {
	if !s.untilTime() {
		return false
	}
	root := s.search.Root()
	visits := int(root.N)
	if visits < s.want || root.Proven != mcts.Unproven || len(root.Moves) < 2 || visits >= maxTimedVisits {
		return false
	}
	s.slice(visits)
	return true
}

// settle notes what the search came to.
func (s *netSeat) settle(root *mcts.RootStats) {
	s.begun = false
	s.spent = s.table.now().Sub(s.began)
	if s.scored = root.N > 0; s.scored {
		s.score = uci.Centipawns(float64(root.Value.Q))
	}
}
