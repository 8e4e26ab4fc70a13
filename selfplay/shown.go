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
	shownEvery = 100 * time.Millisecond // least time between two looks at one place
	shownFor   = 5 * time.Second        // how long after a call of Games there are looks
)

// Shown lets others watch a few of the games under way. While nobody does it costs a move
// an atomic load, and it never changes a game. It is safe for
// concurrent use.
type Shown struct {
	until atomic.Int64 // Unix time in ns up to which somebody watches
	seats atomic.Int32 // handed out

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
	s.until.Store(now.Add(shownFor).UnixNano())
	s.mu.Lock()
	was := s.games
	s.mu.Unlock()
	views := []record.View{}
	for i := range was {
		if now.Sub(was[i].at) >= shownFor {
			continue
		}
		if v, err := was[i].game.View(); err == nil { // that is played has a start that can be read
			views = append(views, v)
		}
	}
	return views
}

// seat gives a place for games a number, -1 where it is not shown.
func (s *Shown) seat() int {
	if n := s.seats.Add(1); n <= shownGames {
		return int(n) - 1
	}
	return -1
}

// look keeps the game of a seat as it is, if somebody watches, and unless the last look at
// that seat was a moment ago.
func (s *Shown) look(seat int, g *record.Game) {
	until := s.until.Load()
	if until == 0 {
		return
	}
	now := time.Now()
	if now.UnixNano() > until {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was := &s.games[seat]
	if now.Sub(was.at) < shownEvery {
		return
	}
	was.game, was.at = *g, now
	was.game.Plies = slices.Clone(g.Plies)
}
