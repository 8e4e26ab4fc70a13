// Package chesstest makes the positions of tests. What is none ends the test.
package chesstest

import (
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// Board returns the position of a FEN.
func Board(t testing.TB, fen string) chess.Board {
	t.Helper()
	b, err := chess.ParseFEN(fen)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
