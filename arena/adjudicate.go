package arena

import (
	"fmt"

	"github.com/chessbrain/chessbrain/mcts"
)

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
