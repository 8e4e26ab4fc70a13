package rescore

import (
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

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
		if sameQDM(v, g.ResultAt(i)) {
			continue
		}
		if out == g {
			out = g.Clone()
		}
		out.SetResult(i, v)
	}
	return out
}

func sameQDM(a, b encoding.QDM) bool {
	return same(a.Q, b.Q) && same(a.D, b.D) && same(a.M, b.M)
}

// same says whether a and b are equal or both not known.
func same(a, b float32) bool { return a == b || a != a && b != b }
