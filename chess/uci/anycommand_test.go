package uci

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/mcts"
)

// TestAnyCommandAtAnyMoment sends commands in random order, without waiting: each
// go is answered by one bestmove that is legal where it was sent, and each isready
// by one readyok, in their order.
func TestAnyCommandAtAnyMoment(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	positions := []string{
		"position startpos", "position startpos moves e2e4 e7e5 g1f3", "position startpos moves f2f3 e7e5 g2g4 d8h4",
		"position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "position fen k7/2Q5/1K6/8/8/8/8/8 b - - 0 1",
		"position fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
		"position fen 8/8/4k3/3p4/3P4/4K3/8/8 w - - 99 100", "position startpos moves e2e5", "position",
	}
	others := []string{
		"go", "go infinite", "go ponder", "go nodes 30", "go wtime 100 btime 100", "go movetime 1", "go depth 2", "go mate 1", "go nodes x",
		"go ponder wtime 600 btime 600", "go perft 2", "go perft x", "stop", "ponderhit", "isready", "ucinewgame", "setoption name MultiPV value 3",
		"setoption name Clear Hash", "setoption name Hash value 1", "setoption name CPuct value 2", "setoption name Nodes value 0", "debug on", "what",
	}
	for range 30 {
		g := play(t.Context(), t, &mcts.HashEvaluator{})
		g.send("setoption name Nodes value 50")
		var want []string // FEN of each search, "" of each isready
		fen := chess.StartFEN
		for range 60 {
			line := others[rng.IntN(len(others))]
			if rng.IntN(4) == 0 {
				line = positions[rng.IntN(len(positions))]
			}
			g.send(line)
			switch {
			case line == "ucinewgame":
				fen = chess.StartFEN
			case line == "isready":
				want = append(want, "")
			case strings.HasPrefix(line, "go ") && !strings.HasPrefix(line, "go perft"), line == "go":
				want = append(want, fen)
			case strings.HasPrefix(line, "position ") && !strings.HasSuffix(line, "e2e5"):
				b := boardOf(t, line)
				fen = b.FEN()
			}
		}
		if err := g.quit(); err != nil {
			t.Fatal(err)
		}
		checkAnswers(t, seed, want, g.lines)
	}
}

// checkAnswers holds the output against the order of the questions; an isready
// during a search is answered before it.
func checkAnswers(t *testing.T, seed uint64, want []string, lines chan string) {
	t.Helper()
	var searches []string
	ready := 0
	for _, w := range want {
		if w == "" {
			ready++
		} else {
			searches = append(searches, w)
		}
	}
	for line := range lines {
		switch {
		case line == "readyok":
			ready--
		case strings.HasPrefix(line, "bestmove"):
			if len(searches) == 0 {
				t.Fatalf("seed %d: %q was not asked for", seed, line)
			}
			b := chesstest.Board(t, searches[0])
			checkBest(t, &b, line)
			searches = searches[1:]
		case !strings.HasPrefix(line, "info ") && !strings.Contains(line, ": "):
			t.Errorf("seed %d: %q", seed, line)
		}
	}
	if ready != 0 || len(searches) > 0 {
		t.Errorf("seed %d: %d readyok and %d bestmoves are missing", seed, ready, len(searches))
	}
}
