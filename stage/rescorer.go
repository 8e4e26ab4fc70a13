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
