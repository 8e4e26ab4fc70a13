package rescore

import (
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

func TestPliesLeft(t *testing.T) {
	game := func(end record.EndReason, result int8) *record.Game {
		g := played(t, "", fourMoves...)
		g.End, g.WhiteResult = end, result
		for i := range g.Plies {
			g.Plies[i].Best.M = 20
		}
		return g
	}
	for _, end := range []record.EndReason{record.EndResign, record.EndMaxPlies, record.EndTablebase, record.EndUnknown} {
		out := rescored(t, PliesLeft{}, game(end, 1))
		wantResults(t, end.String(), out, encoding.QDM{Q: 1, M: 23}, encoding.QDM{Q: -1, M: 22}, encoding.QDM{Q: 1, M: 21}, encoding.QDM{Q: -1, M: 20})
	}
	if g := game(record.EndAborted, 0); rescored(t, PliesLeft{}, g) != g {
		t.Error("an aborted game changed")
	}

	unsearched := game(record.EndResign, 1) // the last search was two plies before the end
	unsearched.Plies[3].Best.M, unsearched.Plies[2].Best.M, unsearched.Plies[1].Best.M = nan, nan, 5
	out := rescored(t, PliesLeft{}, unsearched)
	wantResults(t, "unsearched", out, encoding.QDM{Q: 1, M: 6}, encoding.QDM{Q: -1, M: 5}, encoding.QDM{Q: 1, M: 4}, encoding.QDM{Q: -1, M: 3})

	short := game(record.EndResign, 1) // less than what was played
	short.Plies[3].Best.M, short.Plies[2].Best.M, short.Plies[1].Best.M = nan, nan, 0.5
	if out := rescored(t, PliesLeft{}, short); out != short {
		t.Errorf("less than the moves that followed: %+v", out.Results)
	}

	known := game(record.EndResign, 1)
	known.SetResult(1, encoding.QDM{Q: 0.5, M: 9})
	out = rescored(t, PliesLeft{}, known)
	wantResults(t, "known", out, encoding.QDM{Q: 1, M: 23}, encoding.QDM{Q: 0.5, M: 9}, encoding.QDM{Q: 1, M: 21})
}

// A game that ended by the rules has the plies that were played.
func TestPliesLeftByTheRules(t *testing.T) {
	g := played(t, "", "f2f3", "e7e5", "g2g4", "d8h4")
	g.End, g.WhiteResult = record.EndCheckmate, -1
	for i := range g.Plies {
		g.Plies[i].Best.M = 20
	}
	if out := rescored(t, PliesLeft{}, g); out != g {
		t.Errorf("changed: %+v", out.Results)
	}
}

func TestChanges(t *testing.T) {
	g := played(t, "", fourMoves...)
	g.WhiteResult = 1
	var c Changes
	c.Count(g, g)
	c.Count(g, g.Clone())
	if want := (Changes{Games: 2, Positions: 8}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	out := g.Clone()
	out.SetResult(0, encoding.QDM{Q: 0.5, D: 0.5, M: 4})
	out.SetResult(1, encoding.QDM{Q: -0.5, D: 0.5, M: 30})
	out.Plies[2].Weight = 0
	out.Plies[3].Kind, out.Plies[3].Probs = record.PolicyProbs, make([]float32, 30)
	c = Changes{}
	c.Count(g, out)
	if want := (Changes{Games: 1, GamesChanged: 1, Positions: 4, Results: 2, PliesLeft: 1, Policies: 1, Weights: 1}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
}
