package arena

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/record"
)

// ErrStopped says that the context was cancelled before all games were
// finished. It wraps the context's cause.
var ErrStopped = errors.New("match stopped")

// Config describes a match.
type Config struct {
	Players  [2]Player // players 1 and 2
	Openings []Opening // each is played twice: first player 1 has white, then player 2
	Seed     uint64
	Workers  int // goroutines that play; 0 = 1
	Parallel int // games that a worker keeps under way; 0 = its share, at most 128
	MaxPlies int // of a game, its opening included, which is then a draw; 0 = 450

	// OnGame is told each finished game, one at a time; may be nil.
	OnGame func(*Game)
}

const (
	defaultParallel = 128
	defaultMaxPlies = 450
)

// Game is a finished game.
type Game struct {
	Number       int // from 0; games 2k and 2k+1 are pair k
	White        int // the player that has white, 0 or 1
	Start        chess.Board
	Moves        []chess.Move // those of the opening included
	OpeningPlies int
	WhiteResult  int8 // +1 white won, 0 draw, -1 black won
	End          record.EndReason
}

// Result returns the outcome for a player (0 or 1): +1, 0 or -1.
func (g *Game) Result(player int) int {
	if player == g.White {
		return int(g.WhiteResult)
	}
	return -int(g.WhiteResult)
}

// Result is what a match came to.
type Result struct {
	Names [2]string // of players 1 and 2, with a number behind it where they are equal
	Games []Game    // the finished ones in the order of their numbers
}

// match is a match under way.
type match struct {
	cfg Config

	mu       sync.Mutex
	next     int     // number of the next game
	finished []*Game // by number; nil = not finished
}

// Play plays two games for each opening. With an error, a cancelled context
// among them (ErrStopped), the games that were finished are returned as well.
func Play(ctx context.Context, cfg Config) (*Result, error) {
	if len(cfg.Openings) == 0 || cfg.Players[0] == nil || cfg.Players[1] == nil {
		return nil, errors.New("a match needs two players and an opening")
	}
	if cfg.Workers < 0 || cfg.Parallel < 0 || cfg.MaxPlies < 0 {
		return nil, fmt.Errorf("match: workers %d, parallel %d, max plies %d: none may be negative", cfg.Workers, cfg.Parallel, cfg.MaxPlies)
	}
	m := newMatch(cfg)
	for i := range cfg.Openings {
		if plies := len(cfg.Openings[i].Moves); plies >= m.cfg.MaxPlies {
			return nil, fmt.Errorf("match: opening %d has %d plies, and a game is drawn after %d: raise the limit", i+1, plies, m.cfg.MaxPlies)
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for range m.cfg.Workers {
		group.Go(func() error { return m.work(groupCtx) })
	}
	err := group.Wait()
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
	}
	return m.result(), err
}

// newMatch fills in the defaults.
func newMatch(cfg Config) *match {
	games := 2 * len(cfg.Openings)
	if cfg.Workers == 0 {
		cfg.Workers = 1
	}
	cfg.Workers = min(cfg.Workers, games)
	if cfg.Parallel == 0 {
		cfg.Parallel = defaultParallel
	}
	cfg.Parallel = min(cfg.Parallel, (games+cfg.Workers-1)/cfg.Workers)
	if cfg.MaxPlies == 0 {
		cfg.MaxPlies = defaultMaxPlies
	}
	return &match{cfg: cfg, finished: make([]*Game, games)}
}

// ticket hands out the number of a game that is to be played.
func (m *match) ticket() (number int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == len(m.finished) {
		return 0, false
	}
	m.next++
	return m.next - 1, true
}

// deliver takes a finished game.
func (m *match) deliver(g *Game) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finished[g.Number] = g
	if m.cfg.OnGame != nil {
		m.cfg.OnGame(g)
	}
}

// result gathers the finished games.
func (m *match) result() *Result {
	r := &Result{Names: [2]string{m.cfg.Players[0].Name(), m.cfg.Players[1].Name()}}
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
