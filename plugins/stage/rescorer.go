package stage

import (
	"context"
	"fmt"

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

// RescoreOne is Rescore of a BatchRescorer: its RescoreBatch of one game.
func RescoreOne(ctx context.Context, r BatchRescorer, g *record.Game) (*record.Game, error) {
	out, err := r.RescoreBatch(ctx, []*record.Game{g})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// RescoreAll passes games through r, in one call where r can do that. Where r takes one
// game at a time, an error is about the first game that is not in out.
func RescoreAll(ctx context.Context, r Rescorer, games []*record.Game) (out []*record.Game, err error) {
	if batch, ok := r.(BatchRescorer); ok {
		if out, err = batch.RescoreBatch(ctx, games); err == nil && len(out) != len(games) {
			err = fmt.Errorf("it returned %d games for %d", len(out), len(games))
		}
		return out, err
	}
	for _, g := range games {
		one, err := r.Rescore(ctx, g)
		if err != nil {
			return out, err
		}
		out = append(out, one)
	}
	return out, nil
}

// Faulty is a stage that goes on without what it found broken, such as damaged
// endgame tables. Err says what that was so far.
type Faulty interface{ Err() error }
