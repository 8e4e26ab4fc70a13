package syzygy

import (
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// winning holds the tables that several tests use.
var winning = sync.OnceValue(SolveWinning)

// TestLongestMates holds the solver, and through it the rules, against the
// known longest wins: KQK 10, KRK 16, KPK 28 moves.
func TestLongestMates(t *testing.T) {
	for piece, moves := range map[chess.PieceType]int{chess.Queen: 10, chess.Rook: 16, chess.Pawn: 28} {
		if got := (winning()[piece].Longest() + 1) / 2; got != moves {
			t.Errorf("piece %d: longest win %d moves, want %d", piece, got, moves)
		}
	}
}

// TestMinorPieceNeverWins justifies that promotions to a knight or a bishop
// count as draws.
func TestMinorPieceNeverWins(t *testing.T) {
	if testing.Short() {
		t.Skip("two more tables take seconds")
	}
	for _, piece := range []chess.PieceType{chess.Knight, chess.Bishop} {
		if got := solve(piece).Longest(); got != 0 {
			t.Errorf("piece %d: a win in %d plies", piece, got)
		}
	}
}

// TestPositions checks single positions whose value is well known.
func TestPositions(t *testing.T) {
	tables := winning()
	for _, c := range []struct {
		piece      chess.PieceType
		fen        string
		wdl, plies int
	}{
		{chess.Queen, "k7/2Q5/1K6/8/8/8/8/8 b - - 0 1", 0, 0},   // stalemate
		{chess.Queen, "k7/1Q6/1K6/8/8/8/8/8 b - - 0 1", -1, 0},  // mated
		{chess.Queen, "k7/8/1K6/8/8/8/8/6Q1 w - - 0 1", 1, 1},   // Qg8
		{chess.Rook, "k7/8/1K6/8/8/8/8/7R w - - 0 1", 1, 1},     // Rh8
		{chess.Rook, "K7/8/1k6/8/8/8/8/7r b - - 0 1", 1, 1},     // colours exchanged
		{chess.Rook, "8/8/8/8/8/8/2Rk4/1K6 b - - 0 1", -1, -1},  // the rook is protected
		{chess.Pawn, "4k3/4P3/4K3/8/8/8/8/8 b - - 0 1", 0, 0},   // stalemate
		{chess.Pawn, "8/8/8/8/8/k1p5/8/3K4 b - - 0 1", 1, -1},   // won, distance not checked
		{chess.Pawn, "8/2p5/8/8/8/5k2/8/2K5 w - - 0 1", -1, -1}, // lost
		{chess.Pawn, "6k1/8/8/8/8/5p2/8/2K5 b - - 0 1", 1, -1},
	} {
		b := chesstest.Board(t, c.fen)
		wdl, plies, ok := tables[c.piece].Probe(&b)
		if !ok || wdl != c.wdl || (c.plies >= 0 && plies != c.plies) {
			t.Errorf("%s: wdl %d plies %d ok %v, want %d %d", c.fen, wdl, plies, ok, c.wdl, c.plies)
		}
	}
	other, _ := chess.ParseFEN("k7/8/1K6/8/8/8/8/6QR w - - 0 1")
	if _, _, ok := tables[chess.Queen].Probe(&other); ok {
		t.Error("a position with four men was found")
	}
}

// TestDistanceIsConsistent replays the definition: a won position has a
// successor lost in one ply less, a lost one only successors won, the slowest
// in one ply less.
func TestDistanceIsConsistent(t *testing.T) {
	table := winning()[chess.Rook]
	var list chess.MoveList
	seen := 0
	for p := range table.All {
		if seen++; seen%97 != 0 || p.Plies == 0 {
			continue
		}
		p.Board.GenerateMoves(&list)
		best := -1000
		for _, m := range list.Slice() {
			child := p.Board
			child.Make(m)
			wdl, plies, ok := table.Probe(&child)
			if !ok {
				wdl, plies = 0, 0
			}
			score := 0
			switch wdl {
			case -1:
				score = 500 - plies
			case 1:
				score = plies - 500
			}
			best = max(best, score)
		}
		want := map[int]int{1: 500 - (p.Plies - 1), -1: p.Plies - 1 - 500}[p.WDL]
		if best != want {
			t.Fatalf("%s: best successor %d, want %d", p.Board.FEN(), best, want)
		}
	}
	if want := 175_168 + 223_944; seen != want {
		t.Fatalf("%d legal positions of KRK, want %d (Edwards' counts)", seen, want)
	}
}
