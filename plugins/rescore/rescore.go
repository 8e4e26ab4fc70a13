package rescore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// Identity returns every game as it is.
type Identity struct{}

func (Identity) Name() string { return "identity" }

func (Identity) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	return g, ctx.Err()
}

// Chain applies rescorers one after the other.
type Chain []stage.Rescorer

// Name returns the names of its parts, joined by commas.
func (c Chain) Name() string {
	names := make([]string, len(c))
	for i, r := range c {
		names[i] = r.Name()
	}
	return strings.Join(names, ",")
}

// Err joins what its parts have found broken so far without failing, such as
// endgame tables (Syzygy.Err); nil where there is nothing.
func (c Chain) Err() error {
	var errs []error
	for _, r := range c {
		if named, ok := r.(stage.Faulty); ok {
			if err := named.Err(); err != nil {
				errs = append(errs, stage.KindRescorer.Named(r.Name(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// Rescore passes g through the chain. What a part returns must still be a valid
// record of the same game; the error names the part.
func (c Chain) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	out, err := c.RescoreBatch(ctx, []*record.Game{g})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// RescoreBatch passes all games through the chain, part by part. games stays as
// it is.
func (c Chain) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	games = slices.Clone(games)
	for _, r := range c {
		out, err := stage.RescoreAll(ctx, r, games)
		if _, together := r.(stage.BatchRescorer); err != nil && !together {
			err = fmt.Errorf("game %x: %w", games[len(out)].ID, err)
		}
		if err != nil {
			return nil, stage.KindRescorer.Named(r.Name(), err)
		}
		for i, g := range games {
			if err := check(g, out[i]); err != nil {
				return nil, stage.KindRescorer.Named(r.Name(), fmt.Errorf("game %x: %w", g.ID, err))
			}
		}
		games = out
	}
	return games, nil
}

// check holds what a rescorer made of a game against it.
func check(g, out *record.Game) error {
	switch {
	case out == g:
		return nil
	case out == nil || out.ID != g.ID:
		return errors.New("it returned another game")
	}
	if err := out.Validate(); err != nil {
		return fmt.Errorf("invalid result: %w", err)
	}
	return nil
}
