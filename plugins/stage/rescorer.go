package stage

import (
	"context"

	"github.com/chessbrain/chessbrain/record"
)

// Rescorer changes what a finished game teaches, before the game is stored or
// sampled: results, policies, weights. Games are immutable: a rescorer returns
// its argument or a changed copy. It may be called from several goroutines.
type Rescorer interface {
	Name() string
	Rescore(ctx context.Context, g *record.Game) (*record.Game, error)
}

// BatchRescorer is a Rescorer that works on many games in one call, which a
// plugin does at a fraction of the cost of single calls.
type BatchRescorer interface {
	Rescorer

	// RescoreBatch returns one game for each of games, in their order. An error
	// is about all of them.
	RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error)
}

// Faulty is a stage that goes on without what it found broken, such as damaged
// endgame tables. Err says what that was so far.
type Faulty interface{ Err() error }
