package selfplay

import (
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/record"
)

// ResignWatch keeps the share of false resignations below its bound. A share of
// the games is played on past a would-be resignation (record.ResignDisabled);
// where the side that would have resigned did not lose, the resignation would
// have been false. Nobody resigns before enough games were tested and few enough
// were false: a net that knows nothing yet would else decide its games, and learn
// from its own mistake that one colour always wins. Whenever too many are false,
// the threshold's distance from -1 is halved and trust must be won again. It
// depends on the games and their order only.
type ResignWatch struct {
	Configured float64 `json:"configured"` // selfplay.resign.q when Q was last set by it
	Q          float64 `json:"q"`          // threshold in force; -1 = nobody resigns
	Trusted    bool    `json:"trusted"`    // enough tests with few false ones: games are really resigned
	Tested     int64   `json:"tested"`     // games played on, of the whole run
	False      int64   `json:"false"`      // those whose resignation would have been false
	Recent     int64   `json:"recent"`     // tested since Q last changed; old ones count half
	RecentBad  int64   `json:"recent_bad"` // false ones of those
}

const (
	resignTests  = 20    // tested games before the threshold is trusted, or moves
	resignMemory = 200   // tested games at which the older ones begin to count half
	resignLeast  = 0.002 // distance from -1 below which nobody resigns any more
)

// Rule returns the rule in force where want is what the user asks for. A threshold
// that was changed by the user starts the watch anew.
func (w *ResignWatch) Rule(want Resign) Resign {
	if w.Q == 0 || w.Configured != want.Q {
		w.Configured, w.Q, w.Recent, w.RecentBad, w.Trusted = want.Q, want.Q, 0, 0, false
	}
	rule := want
	rule.Enabled, rule.Q = w.Q > -1, w.Q
	if !w.Trusted {
		rule.PlayThrough = 1
	}
	return rule
}

// Count takes a finished game and says whether the rule changed: it is trusted
// from now on, or the threshold became stricter and is tested anew.
func (w *ResignWatch) Count(g *record.Game, maxFalse float64) bool {
	wrong, tested := falseResign(g)
	if !tested {
		return false
	}
	w.Tested++
	w.Recent++
	if wrong {
		w.False++
		w.RecentBad++
	}
	if w.Recent >= resignMemory {
		w.Recent, w.RecentBad = w.Recent/2, w.RecentBad/2
	}
	if w.Q <= -1 || w.Recent < resignTests {
		return false
	}
	if float64(w.RecentBad) <= maxFalse*float64(w.Recent) {
		won := !w.Trusted
		w.Trusted = true
		return won
	}
	w.Recent, w.RecentBad, w.Trusted = 0, 0, false
	w.Q = -1 + (1+w.Q)/2
	if 1+w.Q < resignLeast {
		w.Q = -1
	}
	return true
}

// falseResign says whether a game was played on past a would-be resignation,
// and if so, whether that would have been false. The side that would have
// resigned is the one for which the first such position was bad.
func falseResign(g *record.Game) (wrong, tested bool) {
	if g.Flags&record.ResignDisabled == 0 {
		return false, false
	}
	for i := range g.Plies {
		if g.Plies[i].Flags&record.PlayedOn == 0 {
			continue
		}
		start, err := g.StartBoard()
		if err != nil {
			return false, false // was checked before the game was stored
		}
		side := start.SideToMove()
		for range i {
			side = opponent(side)
		}
		if g.Plies[i].Root.Q > 0 {
			side = opponent(side)
		}
		return g.Result(side) >= 0, true
	}
	return false, false
}

func opponent(c chess.Color) chess.Color {
	if c == chess.White {
		return chess.Black
	}
	return chess.White
}
