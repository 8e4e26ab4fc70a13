package arena

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/chess"
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
	Parallel int // games that a worker keeps under way; 0 = its share, at most 128, and 1 where an engine plays
	MaxPlies int // of a game, its opening included, which is then a draw; 0 = 450

	Adjudicate Adjudication // of games that are decided

	// Numbers are the games to play, in this order; nil = all.
	Numbers []int
	// Share, where it is not nil, runs beside the match's own workers, which play what it
	// does not. It returns when its context ends.
	Share func(context.Context, Shared)

	// Done are games of this match that are finished: they are not played again.
	// The other games come out as if none had been.
	Done []Game
	// Log takes each finished game before it counts; nil = none. Done is not
	// written again.
	Log *Log
	// Decided, where it is not nil, is asked after every finished game, those of
	// Done first in their order, whether that is enough. Then no other game is
	// begun, and those under way are dropped: a short game that finishes early
	// must not count for more than a long one that does not.
	Decided func(Progress) bool

	// OnGame is told each finished game but those of Done, one at a time, and how far
	// the match is with it; may be nil.
	OnGame func(*Game, Progress)
}

// Progress is how far a match is.
type Progress struct {
	Count             // of all finished games; player 1's
	Total int         // games of the whole match
	Pairs Pentanomial // of the pairs before the first that is not finished: what a sequential test may look at
	All   Pentanomial // of all pairs of which both games are finished
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
	End          End
	Note         string // what happened where a player failed; else ""
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
	Names   [2]string // of players 1 and 2, with a number behind it where they are equal
	Games   []Game    // the finished ones, Done included, in the order of their numbers
	Decided bool      // Config.Decided ended the match
}

// Play plays two games for each opening. With an error, a cancelled context
// among them (ErrStopped), the games that were finished are returned as well.
func Play(ctx context.Context, cfg Config) (*Result, error) {
	m, err := newMatch(cfg)
	if err != nil {
		return nil, fmt.Errorf("match: %w", err)
	}
	ctx, m.stop = context.WithCancel(ctx)
	defer m.stop()
	if m.decided {
		return m.result(), nil
	}
	endShare := m.share(ctx)
	group, groupCtx := errgroup.WithContext(ctx)
	for range m.cfg.Workers {
		group.Go(func() error { return m.work(groupCtx) })
	}
	err = group.Wait()
	endShare()
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		if err = nil; !m.decided {
			err = fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
		}
	}
	return m.result(), err
}
