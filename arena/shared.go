package arena

import (
	"context"
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
)

// Shared is a match under way of which games are played elsewhere, too. Whoever that is
// cannot hold the match up: when nothing else is left, its own workers play what was lent.
// A game is a function of its number, so it does not matter whose comes first. The methods
// may be called concurrently, until Config.Share returns.
type Shared struct{ m *match }

// Lend hands out the numbers of at most n games that nobody plays yet, a share of those
// that are left; none = there are no more at the moment.
func (s Shared) Lend(n int) (numbers []int) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	n = min(n, max(leastLent, s.m.untouched()/lentShare))
	for len(numbers) < n {
		number, ok := s.m.fresh()
		if !ok {
			break
		}
		numbers = append(numbers, number)
	}
	s.m.lent = append(s.m.lent, numbers...)
	return numbers
}

const (
	lentShare = 4   // the part of what is left that one lender gets at once: the end does not wait for the slowest
	leastLent = 4   // games that are worth a message
	lentLead  = 128 // numbers by which new games may be ahead of the first pair that is not finished

	sharedParallel = 8 // games that a worker of a shared match keeps under way at least
)

// Return takes games back that will not come. They are handed out before others.
func (s Shared) Return(numbers []int) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	for _, n := range numbers {
		if i := slices.Index(s.m.lent, n); i >= 0 {
			s.m.lent = slices.Delete(s.m.lent, i, i+1)
			s.m.returned = append(s.m.returned, n)
		}
	}
}

// Deliver takes a finished game that was lent, of legal moves, if it ends by the rules, or by
// the limit of plies, as it says. One that is there already is dropped, and so are all once
// the match is decided.
func (s Shared) Deliver(g *Game) error {
	if err := s.m.checkEnd(g); err != nil {
		return err
	}
	return s.m.deliver(g)
}

// checkEnd says why a game of legal moves is none of this match, or does not end as it says.
func (m *match) checkEnd(g *Game) error {
	if err := m.check(g); err != nil {
		return err
	}
	if g.Note != "" {
		return fmt.Errorf("finished game %d has a note, and nobody failed in it", g.Number)
	}
	line := chess.NewHistory(g.Start)
	setLine(line, &m.cfg.Openings[g.Number/2])
	over := slot{match: m, line: line, game: g}
	for ply := g.OpeningPlies; ; ply++ {
		line.Board().GenerateMoves(&over.legal)
		end, result, ended := over.ending()
		switch {
		case ended && ply == len(g.Moves) && end == g.End && result == g.WhiteResult:
			return nil
		case ended || ply == len(g.Moves):
			return fmt.Errorf("finished game %d: after %d of %d plies the rules say %q, the game %q with %+d for White", g.Number, ply, len(g.Moves), end, g.End, g.WhiteResult)
		}
		line.Push(g.Moves[ply])
	}
}

// share runs Config.Share until the match's own workers have ended.
func (m *match) share(ctx context.Context) (end func()) {
	if m.cfg.Share == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.cfg.Share(ctx, Shared{m})
	}()
	return func() {
		cancel()
		<-done
	}
}
