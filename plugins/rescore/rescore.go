package rescore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
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
	return stage.RescoreOne(ctx, c, g)
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

// Changes counts what rescoring changed.
type Changes struct {
	Games        int `json:"games"`
	GamesChanged int `json:"games_changed"`
	Positions    int `json:"positions"`
	Results      int `json:"results_changed"`    // positions with another Q or D
	PliesLeft    int `json:"plies_left_changed"` // positions with another M
	Policies     int `json:"policies_changed"`   // positions
	Weights      int `json:"weights_changed"`    // positions
}

// Count adds one game as it was and as it is now. Both have the same moves.
func (c *Changes) Count(before, after *record.Game) {
	c.Games++
	c.Positions += len(before.Plies)
	if before == after {
		return
	}
	old := *c
	for i := range before.Plies {
		v, w := before.ResultAt(i), after.ResultAt(i)
		p, q := &before.Plies[i], &after.Plies[i]
		c.Results += one(!same(v.Q, w.Q) || !same(v.D, w.D))
		c.PliesLeft += one(!same(v.M, w.M))
		c.Policies += one(p.Kind != q.Kind || !slices.Equal(p.Counts, q.Counts) || !slices.Equal(p.Probs, q.Probs))
		c.Weights += one(p.Weight != q.Weight)
	}
	c.GamesChanged += one(*c != old)
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// resultsOf returns the outcome of every ply of g, which the caller may change.
func resultsOf(g *record.Game) []encoding.QDM {
	outcomes := make([]encoding.QDM, len(g.Plies))
	for i := range outcomes {
		outcomes[i] = g.ResultAt(i)
	}
	return outcomes
}

// withResults returns g with the outcomes given: itself where it has them
// already, else a copy.
func withResults(g *record.Game, outcomes []encoding.QDM) *record.Game {
	out := g
	for i, v := range outcomes {
		if old := g.ResultAt(i); same(v.Q, old.Q) && same(v.D, old.D) && same(v.M, old.M) {
			continue
		}
		if out == g {
			out = g.Clone()
		}
		out.SetResult(i, v)
	}
	return out
}

// same says whether a and b are equal or both not known.
func same(a, b float32) bool { return a == b || a != a && b != b }
