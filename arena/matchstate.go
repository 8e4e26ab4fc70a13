package arena

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// match is a match under way.
type match struct {
	cfg    Config
	limits [2]Limits // of the players

	mu       sync.Mutex
	stop     context.CancelFunc // ends the workers
	next     int                // of cfg.Numbers, to look at next
	returned []int              // games that were lent and do not come
	lent     []int              // games that others play, which come before long
	finished []*Game            // by number; nil = not finished
	ordered  int                // games before the first that is not finished, in whole pairs
	progress Progress
	decided  bool
}

// newMatch says what is wrong with a match, and fills in the defaults.
func newMatch(cfg Config) (*match, error) {
	if len(cfg.Openings) == 0 || cfg.Players[0] == nil || cfg.Players[1] == nil {
		return nil, errors.New("it needs two players and an opening")
	}
	if cfg.Workers < 0 || cfg.Parallel < 0 || cfg.MaxPlies < 0 {
		return nil, fmt.Errorf("workers %d, parallel %d, max plies %d: none may be negative", cfg.Workers, cfg.Parallel, cfg.MaxPlies)
	}
	if err := cfg.Adjudicate.validate(); err != nil {
		return nil, err
	}
	if cfg.Share != nil && cfg.Adjudicate != (Adjudication{}) {
		return nil, errors.New("games that are adjudicated cannot be shared: nobody could check their ends")
	}
	m := &match{cfg: cfg, finished: make([]*Game, 2*len(cfg.Openings))}
	if m.cfg.Numbers == nil {
		for n := range m.finished {
			m.cfg.Numbers = append(m.cfg.Numbers, n)
		}
	}
	for _, n := range m.cfg.Numbers {
		if n < 0 || n >= len(m.finished) {
			return nil, fmt.Errorf("game %d is wanted: the match has games 0 to %d", n, len(m.finished)-1)
		}
	}
	if err := m.shape(); err != nil {
		return nil, err
	}
	for i := range cfg.Openings {
		if plies := len(cfg.Openings[i].Moves); plies >= m.cfg.MaxPlies {
			return nil, fmt.Errorf("opening %d has %d plies, and a game is drawn after %d: raise the limit", i+1, plies, m.cfg.MaxPlies)
		}
	}
	return m, m.takeDone()
}

// shape settles workers and the games of each.
func (m *match) shape() error {
	games, most := max(1, len(m.cfg.Numbers)), defaultParallel
	for i, p := range m.cfg.Players {
		m.limits[i] = p.Limits()
		if m.limits[i].Timed() && m.cfg.Parallel > 1 {
			return fmt.Errorf("%d games in a worker: player %s has limited time, and every game needs a worker of its own: set more workers instead", m.cfg.Parallel, p.Name())
		}
		if p.OneGame() {
			most = 1
		}
	}
	m.cfg.Workers = min(cmp.Or(m.cfg.Workers, 1), games)
	m.cfg.Parallel = min(cmp.Or(m.cfg.Parallel, most), (games+m.cfg.Workers-1)/m.cfg.Workers)
	if m.cfg.Share != nil { // or nothing is left for others
		m.cfg.Parallel = min(m.cfg.Parallel, max(sharedParallel, m.cfg.Parallel/lentShare))
	}
	m.cfg.MaxPlies = cmp.Or(m.cfg.MaxPlies, defaultMaxPlies)
	return nil
}

// takeDone counts the games that are finished.
func (m *match) takeDone() error {
	m.progress.Total = len(m.finished)
	for i := range m.cfg.Done {
		g := &m.cfg.Done[i]
		if err := m.check(g); err != nil {
			return err
		}
		if m.finished[g.Number] != nil {
			return fmt.Errorf("finished game %d is there twice", g.Number)
		}
		m.count(g)
	}
	return nil
}

// check says why a finished game is none of this match.
func (m *match) check(g *Game) error {
	if g.Number < 0 || g.Number >= len(m.finished) {
		return fmt.Errorf("finished game %d: the match has games 0 to %d", g.Number, len(m.finished)-1)
	}
	o := &m.cfg.Openings[g.Number/2]
	if g.White != g.Number%2 || g.Start != o.Board || g.OpeningPlies != len(o.Moves) ||
		len(g.Moves) < len(o.Moves) || !slices.Equal(g.Moves[:len(o.Moves)], o.Moves) {
		return fmt.Errorf("finished game %d is of another match: it does not begin with opening %d", g.Number, g.Number/2+1)
	}
	return nil
}

// ticket hands out the number of a game that is to be played: those that were lent at last,
// or when a sequential test, which sees pairs in their order, would wait for them.
func (m *match) ticket() (number int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next-m.ordered <= lentLead { // else the order waits for what was lent
		if number, ok = m.fresh(); ok {
			return number, true
		}
	}
	for len(m.lent) > 0 && !m.decided {
		number, m.lent = m.lent[0], m.lent[1:]
		if m.finished[number] == nil {
			return number, true
		}
	}
	return m.fresh()
}

// over says whether a game is finished.
func (m *match) over(number int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.finished[number] != nil
}

// fresh hands out the number of a game that nobody plays. mu is held.
func (m *match) fresh() (number int, ok bool) {
	for len(m.returned) > 0 && !m.decided {
		number, m.returned = m.returned[0], m.returned[1:]
		if m.finished[number] == nil {
			return number, true
		}
	}
	for m.next < len(m.cfg.Numbers) && !m.decided {
		m.next++
		if number = m.cfg.Numbers[m.next-1]; m.finished[number] == nil {
			return number, true
		}
	}
	return 0, false
}

// untouched is how many games fresh may hand out, at most. mu is held.
func (m *match) untouched() int { return len(m.returned) + len(m.cfg.Numbers) - m.next }

// deliver takes a finished game. One that is there already, and after the decision all, is
// dropped.
func (m *match) deliver(g *Game) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.decided || m.finished[g.Number] != nil {
		return nil
	}
	if m.cfg.Log != nil {
		if err := m.cfg.Log.Add(g); err != nil {
			return err
		}
	}
	m.count(g)
	if m.cfg.OnGame != nil {
		m.cfg.OnGame(g, m.progress)
	}
	if m.decided {
		m.stop()
	}
	return nil
}

// count takes a finished game into the progress and asks whether that is
// enough: after each pair that joins those before it, so that a sequential test
// sees them one by one however many are under way.
func (m *match) count(g *Game) {
	m.finished[g.Number] = g
	m.progress.add(g.Result(0))
	if other := m.finished[g.Number^1]; other != nil {
		m.progress.All[2+g.Result(0)+other.Result(0)]++
	}
	asked := false
	for ; m.ordered < len(m.finished) && m.finished[m.ordered] != nil && m.finished[m.ordered+1] != nil; m.ordered += 2 {
		m.progress.Pairs[2+m.finished[m.ordered].Result(0)+m.finished[m.ordered+1].Result(0)]++
		m.ask()
		asked = true
	}
	if !asked {
		m.ask()
	}
}

// ask asks the configuration whether the match is decided, until it is.
func (m *match) ask() {
	if m.cfg.Decided != nil && !m.decided {
		m.decided = m.cfg.Decided(m.progress)
	}
}

// result gathers the finished games.
func (m *match) result() *Result {
	r := &Result{Names: [2]string{m.cfg.Players[0].Name(), m.cfg.Players[1].Name()}, Decided: m.decided}
	if r.Names[0] == r.Names[1] {
		r.Names[0] += " (1)"
		r.Names[1] += " (2)"
	}
	for _, g := range m.finished {
		if g != nil {
			r.Games = append(r.Games, *g)
		}
	}
	return r
}
