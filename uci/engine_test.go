package uci

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
)

func TestHandshake(t *testing.T) {
	g := play(t.Context(), t, &mcts.HashEvaluator{})
	g.send("", "   ", "uci")
	_, lines := g.expect("uciok")
	for _, want := range []string{"id name test", "option name Nodes type spin default 32 min 1 max 1000000",
		"option name UCI_Chess960 type check default false"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in %q", want, lines)
		}
	}
	g.send("isready")
	g.expect("readyok")
	if err := g.quit(); err != nil {
		t.Error(err)
	}
}

// TestMoves asks for moves that can be only one, with a net that knows nothing.
func TestMoves(t *testing.T) {
	for _, c := range []struct{ name, position, command, want string }{
		{"mate in one", "fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "go nodes 100", "a1a8"},
		{"mate in one, black", "fen r5k1/8/8/8/8/8/5PPP/6K1 b - - 0 1", "go", "a8a1"},
		{"one legal move", "fen 7k/8/8/8/8/8/r7/1r5K w - - 0 1", "go movetime 1", "0000"},
		{"checkmated", "startpos moves f2f3 e7e5 g2g4 d8h4", "go nodes 10", "0000"},
		{"stalemate", "fen k7/2Q5/1K6/8/8/8/8/8 b - - 0 1", "go wtime 1000 btime 1000", "0000"},
		{"only move", "fen k7/8/2K5/8/8/8/8/7R b - - 0 1", "go depth 3", "a8b8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := play(t.Context(), t, &mcts.HashEvaluator{})
			if c.name == "one legal move" { // the king on h1 is mated by b1 and a2
				c.want = "0000"
			}
			if c.name == "only move" {
				c.command = "go nodes 40"
				b := boardOf(t, "position "+c.position)
				var list chess.MoveList
				b.GenerateMoves(&list)
				if list.N == 1 {
					c.want = b.UCI(list.Moves[0], false)
				} else {
					c.want = ""
				}
			}
			if got := g.bestMove("position "+c.position, c.command); c.want != "" && got != c.want {
				t.Errorf("bestmove %s, want %s", got, c.want)
			}
		})
	}
}
