package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// SideAt returns who is to move in the position before move number ply. It
// allocates nothing and plays no moves; g must be valid.
func (g *Game) SideAt(ply int) chess.Color {
	start, side := strings.TrimSpace(g.Start), chess.White // men, side, ...
	if i := strings.IndexFunc(start, unicode.IsSpace); i >= 0 && strings.HasPrefix(strings.TrimSpace(start[i:]), "b") {
		side = chess.Black
	}
	return side ^ chess.Color(ply&1)
}

// GameResultAt returns the game's own outcome as the side to move at ply sees
// it: Q from WhiteResult, D = 1 for a draw, M = plies to the end of the game.
// It is unknown in an aborted game. ply may be len(g.Plies).
func (g *Game) GameResultAt(ply int) encoding.QDM {
	return outcome(g.End, g.WhiteResult, g.SideAt(ply), len(g.Plies)-ply, encoding.UnknownQDM)
}

// ResultAt returns the outcome of the position at ply, as its side to move sees
// it: Results where they say something, GameResultAt where they do not. A row
// learns it, but for the plies left of a game that was cut. ply < len(g.Plies).
func (g *Game) ResultAt(ply int) encoding.QDM {
	return outcome(g.End, g.WhiteResult, g.SideAt(ply), len(g.Plies)-ply, g.ownAt(ply))
}

// outcome is what own, which may be unknown, leaves of a game's result as side sees
// it with so many plies left.
func outcome(end EndReason, whiteResult int8, side chess.Color, left int, own encoding.QDM) encoding.QDM {
	v := encoding.UnknownQDM
	if end != EndAborted {
		v = encoding.QDM{Q: float32(resultFor(side, whiteResult)), M: float32(left)}
		if whiteResult == 0 {
			v.D = 1
		}
	}
	if own.Q == own.Q {
		v.Q, v.D = own.Q, own.D
	}
	if own.M == own.M {
		v.M = own.M
	}
	return v
}

// target is the outcome that a row learns: that of ResultAt, without the plies left where
// the game was cut: how many there would have been nobody knows.
func target(end EndReason, whiteResult int8, side chess.Color, left int, own encoding.QDM) encoding.QDM {
	v := outcome(end, whiteResult, side, left, own)
	if end == EndMaxPlies {
		v.M = own.M
	}
	return v
}

// targetAt is target of the position at ply.
func (g *Game) targetAt(ply int) encoding.QDM {
	return target(g.End, g.WhiteResult, g.SideAt(ply), len(g.Plies)-ply, g.ownAt(ply))
}

// ownAt is what Results say of a position.
func (g *Game) ownAt(ply int) encoding.QDM {
	if len(g.Results) == 0 {
		return encoding.UnknownQDM
	}
	return g.Results[ply]
}

// SetResult gives the position at ply an outcome of its own, as its side to
// move sees it. What equals the game's own outcome is not stored, so that a
// game in which nothing differs has no Results. Only for a game that the caller
// owns (Clone).
func (g *Game) SetResult(ply int, v encoding.QDM) {
	own := g.GameResultAt(ply)
	if v.Q == own.Q && v.D == own.D {
		v.Q, v.D = encoding.UnknownQDM.Q, encoding.UnknownQDM.D
	}
	if v.M == own.M {
		v.M = encoding.UnknownQDM.M
	}
	if len(g.Results) == 0 {
		if unknown(v) {
			return
		}
		g.Results = slices.Repeat([]encoding.QDM{encoding.UnknownQDM}, len(g.Plies))
	}
	g.Results[ply] = v
	if !slices.ContainsFunc(g.Results, func(r encoding.QDM) bool { return !unknown(r) }) {
		g.Results = nil
	}
}

// unknown says whether nothing is known of v.
func unknown(v encoding.QDM) bool { return v.Q != v.Q && v.D != v.D && v.M != v.M }

// checkResults checks the outcomes of single positions.
func (g *Game) checkResults() error {
	if len(g.Results) == 0 {
		return nil
	}
	if len(g.Results) != len(g.Plies) {
		return invalid(-1, "results", "%d entries, want none or %d, one a ply", len(g.Results), len(g.Plies))
	}
	for i, v := range g.Results {
		if (v.Q == v.Q) != (v.D == v.D) {
			return invalid(i, "results", "Q is %g and D is %g: both are known, or neither", v.Q, v.D)
		}
		if err := checkValue(i, "results", v); err != nil {
			return err
		}
	}
	return nil
}

// EndCounts lists end reasons, the most frequent first.
func EndCounts[N int | int64 | uint64](ends map[string]N) string { return EndCountsOf(ends, 0) }

// EndCountsOf is EndCounts of games of which somebody won so many: cut games that were won
// are named beside their reason.
func EndCountsOf[N int | int64 | uint64](ends map[string]N, decided N) string {
	names := slices.SortedFunc(maps.Keys(ends), func(a, b string) int {
		return cmp.Or(cmp.Compare(ends[b], ends[a]), cmp.Compare(a, b))
	})
	won := wonOnMaterial(ends, decided)
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, ends[name])
		if name == EndMaxPlies.String() && won > 0 {
			names[i] += fmt.Sprintf(" (%d won on material)", won)
		}
	}
	return strings.Join(names, ", ")
}

// wonOnMaterial is how many of the games cut at the length limit somebody won: those
// decided that neither mate nor a resignation decided, for the rules call all else a draw.
// It is 0 where others may be among them: who won by tables or by a file, no count says.
func wonOnMaterial[N int | int64 | uint64](ends map[string]N, decided N) N {
	byRule := ends[EndCheckmate.String()] + ends[EndResign.String()]
	if ends[EndUnknown.String()]+ends[EndTablebase.String()] > 0 || decided < byRule {
		return 0
	}
	return min(decided-byRule, ends[EndMaxPlies.String()])
}
