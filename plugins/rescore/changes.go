package rescore

import (
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

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
