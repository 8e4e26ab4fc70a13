package arena

import (
	"fmt"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// End says why a game of a match ended. It is the name of the record.EndReason
// where there is one ("checkmate", "fifty-moves", "max-plies"), else a word of
// its own. The names are in logs and PGN.
type End string

// Mate, and the ends of a game that no rule of chess brings about.
const (
	EndCheckmate  End = "checkmate"
	EndMaxPlies   End = "max-plies"      // the limit of plies: a draw
	EndTablebase  End = "tablebase"      // the endgame tables know the result
	EndResign     End = "resign"         // a player's scores were hopeless (Adjudication)
	EndDrawScore  End = "draw-score"     // both players' scores were even for long (Adjudication)
	EndTime       End = "time-forfeit"   // overstepped the time: a loss
	EndIllegal    End = "illegal-move"   // an engine's move is illegal: a loss
	EndEngineDied End = "engine-failure" // an engine crashed, hung or spoke nonsense: a loss
)

// endOf returns the end of a game that is over by the rules, "" where it goes
// on.
func endOf(t chess.Terminal) End {
	if t == chess.NotOver {
		return ""
	}
	return End(record.EndOf(t).String())
}

// Failed reports whether a player lost by its own failure and not on the board.
func (e End) Failed() bool { return e == EndTime || e == EndIllegal || e == EndEngineDied }

// terminations are the values of PGN's Termination tag (standard, section 9.8.1) where
// that is not "normal".
var terminations = map[End]string{
	EndMaxPlies: "adjudication", EndTablebase: "adjudication", EndResign: "adjudication", EndDrawScore: "adjudication",
	EndTime: "time forfeit", EndIllegal: "rules infraction", EndEngineDied: "abandoned",
}

// clocks returns what the mover may know of the time.
func (p *slot) clocks(mover int) Clocks {
	var c Clocks
	for player := range p.seats {
		of := player
		if p.match.limits[player].Base == 0 {
			of = mover
		}
		color := p.color(player)
		c.Left[color], c.Increment[color] = p.left[of], p.match.limits[of].Increment
	}
	return c
}

// spend takes the time of a move from the player's limits and says whether it
// was too much.
func (p *slot) spend(player int, spent time.Duration) (late bool, note string) {
	l := &p.match.limits[player]
	allowed := l.MoveTime
	if l.Base > 0 {
		allowed = p.left[player]
		p.left[player] = max(0, allowed-spent) + l.Increment
	}
	if !l.Timed() || spent <= allowed+l.Margin {
		return false, ""
	}
	return true, fmt.Sprintf("%s took %v for move %d and had %v", p.match.cfg.Players[player].Name(),
		spent.Round(time.Millisecond), p.line.Board().FullMove(), allowed.Round(time.Millisecond))
}

// lose ends the game by a player's failure.
func (p *slot) lose(player int, end End, note string) error {
	p.game.Note = note
	return p.finish(end, p.resultFor(p.color(player), -1))
}

// resultFor returns white's result where a colour has the given one.
func (p *slot) resultFor(color chess.Color, result int) int8 {
	if color == chess.Black {
		result = -result
	}
	return int8(result)
}

// endIfOver hands the game in if it is over.
func (p *slot) endIfOver() error {
	if end, result, over := p.ending(); over {
		return p.finish(end, result)
	}
	return nil
}

// ending says whether the game is over, and how: by the rules first, then by the endgame
// tables, the players' scores and the limit of plies.
func (p *slot) ending() (end End, whiteResult int8, over bool) {
	a, b := &p.match.cfg.Adjudicate, p.line.Board()
	side := b.SideToMove()
	if end := endOf(p.line.Terminal(p.legal.N)); end == EndCheckmate {
		return end, p.resultFor(side, -1), true
	} else if end != "" {
		return end, 0, true
	}
	if a.Tablebase != nil && b.Rule50() == 0 && !b.MayCastle() {
		if wdl, ok := a.Tablebase.Probe(b); ok {
			return EndTablebase, p.resultFor(side, wdl), true
		}
	}
	switch loser, end := p.verdicts.end(a); end {
	case EndResign:
		return end, p.resultFor(p.color(loser), -1), true
	case EndDrawScore:
		return end, 0, true
	}
	if p.line.Len() > p.match.cfg.MaxPlies {
		return EndMaxPlies, 0, true
	}
	return "", 0, false
}

// finish hands the game in and leaves the slot empty.
func (p *slot) finish(end End, whiteResult int8) error {
	g := p.game
	g.End, g.WhiteResult = end, whiteResult
	g.Moves = p.line.Moves(nil)
	p.game = nil
	return p.match.deliver(g)
}

// Adjudication ends games early that are decided. The zero value never does.
// Scores are those that the players report (Answer.Score), in centipawns; a player
// without scores never resigns, and with it no draw comes about.
type Adjudication struct {
	// A player whose own score was -ResignScore or worse for ResignMoves of its
	// moves in a row loses, if its opponent's scores of the same time, where it
	// reports any, were ResignScore or better. 0 moves = never.
	ResignScore int
	ResignMoves int

	// A game is drawn when both players' scores were from -DrawScore to
	// DrawScore for DrawMoves moves each in a row, from full move DrawFromMove of
	// the game on. 0 moves = never.
	DrawScore    int
	DrawMoves    int
	DrawFromMove int

	// Tablebase gives a position that it knows its result; nil = none. It is
	// asked by all workers at once, about positions with rule50 = 0 and without
	// castling rights.
	Tablebase mcts.Prober
}

// validate says what is out of range.
func (a *Adjudication) validate() error {
	if a.ResignMoves < 0 || a.DrawMoves < 0 || a.ResignScore < 0 || a.DrawScore < 0 || a.DrawFromMove < 0 {
		return fmt.Errorf("adjudication: resign score %d for %d moves, draw score %d for %d moves from move %d: none may be negative",
			a.ResignScore, a.ResignMoves, a.DrawScore, a.DrawMoves, a.DrawFromMove)
	}
	if a.ResignMoves > 0 && a.ResignScore == 0 {
		return fmt.Errorf("adjudication: resigning after %d moves needs a score above 0", a.ResignMoves)
	}
	return nil
}

// verdicts counts, in one game, how long each player's scores have called for an
// end.
type verdicts struct {
	lost, won, even [2]int  // own moves in a row, by player
	scored          [2]bool // whether the player's last move had a score
}

// note takes the score of the move that a player made as full move number move.
func (v *verdicts) note(a *Adjudication, player, score int, ok bool, move int) {
	count := func(n *int, holds bool) {
		if *n++; !ok || !holds {
			*n = 0
		}
	}
	count(&v.lost[player], score <= -a.ResignScore)
	count(&v.won[player], score >= a.ResignScore)
	count(&v.even[player], max(score, -score) <= a.DrawScore && move >= a.DrawFromMove)
	v.scored[player] = ok
}

// end returns the player whose loss the scores call for and EndResign, or
// EndDrawScore; "" = the game goes on.
func (v *verdicts) end(a *Adjudication) (loser int, end End) {
	for p := range v.lost {
		o := 1 - p
		// The opponent's newest move may lie one before the player's first bad one.
		agreed := !v.scored[o] || v.won[o] >= max(1, a.ResignMoves-1)
		if a.ResignMoves > 0 && v.lost[p] >= a.ResignMoves && agreed {
			return p, EndResign
		}
	}
	if a.DrawMoves > 0 && min(v.even[0], v.even[1]) >= a.DrawMoves {
		return -1, EndDrawScore
	}
	return -1, ""
}
