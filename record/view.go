package record

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
)

// View is a game as JSON for people and their pages. Everything is from White's side.
type View struct {
	Process string       `json:"process,omitempty"` // that plays it, for whoever gathers those of several
	Game    uint64       `json:"game"`              // its ordinal
	Net     string       `json:"net"`
	Start   string       `json:"start"`         // FEN
	FEN     string       `json:"fen"`           // after the moves
	Moves   []string     `json:"moves"`         // UCI
	SAN     []string     `json:"san,omitempty"` // the same, once Spell was called
	Values  []*WhiteView `json:"values"`
	Result  string       `json:"result"` // as in PGN, * = under way
	End     string       `json:"end,omitempty"`
}

// WhiteView is what the search said before a move; nil where nothing searched. The
// probabilities sum to 1.
type WhiteView struct {
	Win  float32 `json:"w"`
	Draw float32 `json:"d"`
	Loss float32 `json:"l"`
}

// View returns the game for people. The game may be under way.
func (g *Game) View() (View, error) {
	board, err := g.StartBoard()
	if err != nil {
		return View{}, err
	}
	v := View{Game: g.Ordinal, Net: g.NetID, Start: board.FEN(), Moves: make([]string, len(g.Plies)), Values: make([]*WhiteView, len(g.Plies)), Result: "*"}
	if g.End != EndUnknown {
		v.End = g.End.String()
	}
	if g.End != EndUnknown && g.End != EndAborted {
		v.Result = [...]string{"0-1", "1/2-1/2", "1-0"}[g.WhiteResult+1]
	}
	for i, p := range g.Plies {
		v.Moves[i] = board.UCI(p.Move, g.Flags&Chess960 != 0)
		if q := p.Root; !math.IsNaN(float64(q.Q)) && !math.IsNaN(float64(q.D)) {
			win, draw, loss := q.WDL()
			if board.SideToMove() == chess.Black {
				win, loss = loss, win
			}
			v.Values[i] = &WhiteView{win, draw, loss}
		}
		board.Make(p.Move)
	}
	v.FEN = board.FEN()
	return v, nil
}

// Rows draws the position after the moves, the eighth rank first: men as in FEN, and dots.
func (v *View) Rows() (rows [8]string) {
	placement, _, _ := strings.Cut(v.FEN, " ")
	for i, row := range strings.Split(placement, "/") {
		var men []string
		for _, at := range row {
			if at >= '1' && at <= '8' {
				men = append(men, slices.Repeat([]string{"."}, int(at-'0'))...)
				continue
			}
			men = append(men, string(at))
		}
		rows[i] = strings.Join(men, " ")
	}
	return rows
}

// Spell writes the first moves in SAN, too, so many of them or all that there are. That costs
// more than all the rest, and is left to whoever watches.
func (v *View) Spell(plies int) error {
	board, err := chess.ParseFEN(v.Start)
	if err != nil {
		return fmt.Errorf("game %d: %w", v.Game, err)
	}
	v.SAN = make([]string, min(plies, len(v.Moves)))
	for i, uci := range v.Moves[:len(v.SAN)] {
		m, err := board.ParseUCI(uci)
		if err != nil {
			return fmt.Errorf("game %d, ply %d: %w", v.Game, i, err)
		}
		v.SAN[i] = board.SAN(m)
		board.Make(m)
	}
	return nil
}
