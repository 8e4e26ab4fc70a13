package selfplay

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/record"
)

const (
	shownGames = 8                      // that can be watched at a time
	shownEvery = 900 * time.Millisecond // least time between two looks at one game
	shownEnd   = 3 * time.Second        // how long a game that has ended keeps its place
	shownGone  = time.Minute            // after which one without a move loses it
	shownFor   = 5 * time.Second        // how long after a call of Games there are looks
)

// Shown lets others watch a few of the games under way. While nobody does it costs a move
// an atomic load, and it never changes a game. It is safe for concurrent use.
type Shown struct {
	until atomic.Int64 // Unix time in ns up to which somebody watches; 0 = nobody does

	mu    sync.Mutex
	games [shownGames]shown
}

// shown is a game as it was at a time.
type shown struct {
	game record.Game
	at   time.Time
}

// Games returns the games as they are, or as they ended a moment ago, and asks for looks at
// them for some seconds more. The first call for long returns none.
func (s *Shown) Games() []record.View {
	now := time.Now()
	s.mu.Lock()
	if s.until.Swap(now.Add(shownFor).UnixNano()) < now.UnixNano() {
		s.games = [shownGames]shown{} // of those who watched before
	}
	was := s.games
	s.mu.Unlock()
	views := []record.View{}
	for i := range was {
		if now.Sub(was[i].at) >= shownGone {
			continue
		}
		if v, err := was[i].game.View(); err == nil { // that is played has a start that can be read
			views = append(views, v)
		}
	}
	return views
}

// look keeps a game as it is, if somebody watches, and it has or finds a place. A game that
// is on show is looked at again after a while only; its end is looked at in any case. One that
// has ended finds no place: there is nothing to watch any more.
func (s *Shown) look(g *record.Game) {
	until := s.until.Load()
	if until == 0 {
		return
	}
	now := time.Now()
	if now.UnixNano() > until {
		s.until.CompareAndSwap(until, 0)
		return
	}
	over := g.End != record.EndUnknown
	if over {
		s.mu.Lock() // no move comes after it, and the game would pass for one under way
	} else if !s.mu.TryLock() {
		return // another worker looks: the next move will do
	}
	defer s.mu.Unlock()
	var place *shown
	for i := range s.games {
		p := &s.games[i]
		age := now.Sub(p.at)
		if p.game.Ordinal == g.Ordinal && age < shownGone {
			if !over && age < shownEvery {
				return
			}
			place = p
			break
		}
		if over {
			continue
		}
		if age >= shownGone || p.game.End != record.EndUnknown && age >= shownEnd {
			place = p
		}
	}
	if place != nil {
		place.game, place.at = *g, now
		place.game.Plies = slices.Clone(g.Plies)
	}
}
