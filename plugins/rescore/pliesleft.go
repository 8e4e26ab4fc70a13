package rescore

import (
	"context"

	"github.com/chessbrain/chessbrain/record"
)

const pliesLeftDoc = "in a game that was cut (resigned, adjudicated, at the length limit, unknown), adds the plies that the last search still expected"

// PliesLeft fills the plies left of games that did not end by the rules, as
// Leela's self-play does: the moves that followed plus what the last search
// with a known Best.M still expected, never less than the moves that followed.
// Positions whose plies left were set before, as by the tables, keep them;
// aborted games, which have no result, are left alone.
type PliesLeft struct{}

func (PliesLeft) Name() string { return "plies-left" }

// Rescore returns g, or a copy with other Results.
func (PliesLeft) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	switch g.End {
	case record.EndUnknown, record.EndResign, record.EndTablebase, record.EndMaxPlies:
	default:
		return g, ctx.Err()
	}
	last := len(g.Plies) - 1
	for last >= 0 && !(g.Plies[last].Best.M >= 0) {
		last--
	}
	if last < 0 {
		return g, ctx.Err()
	}
	outcomes := resultsOf(g)
	for i := range outcomes {
		if len(g.Results) > 0 && g.Results[i].M >= 0 {
			continue
		}
		outcomes[i].M = max(outcomes[i].M, float32(last-i)+g.Plies[last].Best.M)
	}
	return withResults(g, outcomes), ctx.Err()
}
