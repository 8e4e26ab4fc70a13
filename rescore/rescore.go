package rescore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/stage"
)

// Identity returns every game as it is.
type Identity struct{}

// Name returns "identity".
func (Identity) Name() string { return "identity" }

// Rescore returns g.
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
		if named, ok := r.(interface{ Err() error }); ok {
			if err := named.Err(); err != nil {
				errs = append(errs, fmt.Errorf("rescorer %s: %w", r.Name(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// Rescore passes g through the chain. What a part returns must still be a valid
// record of the same game; the error names the part.
func (c Chain) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	for _, r := range c {
		out, err := r.Rescore(ctx, g)
		if err != nil {
			return nil, fmt.Errorf("rescorer %s: game %x: %w", r.Name(), g.ID, err)
		}
		if out == g {
			continue
		}
		if out == nil || out.ID != g.ID {
			return nil, fmt.Errorf("rescorer %s: game %x: it returned another game", r.Name(), g.ID)
		}
		if err := out.Validate(); err != nil {
			return nil, fmt.Errorf("rescorer %s: game %x: invalid result: %w", r.Name(), g.ID, err)
		}
		g = out
	}
	return g, nil
}
