package chess

import (
	"strings"
	"testing"
)

// play pushes moves in UCI notation.
func play(t *testing.T, h *History, moves string) {
	t.Helper()
	for _, s := range strings.Fields(moves) {
		m, err := h.Board().ParseUCI(s)
		if err != nil {
			t.Fatal(err)
		}
		h.Push(m)
	}
}

func TestRepetition(t *testing.T) {
	const line = "f7f8 f2f4 d7h7 c4d3 h7d7 d3c4"
	cases := []struct {
		name, fen, moves string
		reps             int
	}{
		{"no pawn beside the double step", "3b4/rp1r1k2/8/1RP2p1p/p1KP4/P3P2P/5P2/1R2B3 b - - 2 30", line, 1},
		{"black pawn on g4 could take", "3b4/rp1r1k2/8/1RP2p1p/p1KP2p1/P3P2P/5P2/1R2B3 b - - 2 30", line, 0},
		{"after 1.e4, twice out and back", StartFEN, "e2e4 g8f6 g1f3 f6g8 f3g1 g8f6 g1f3 f6g8 f3g1", 2},
		{"lost castling right", "r3k3/8/8/8/8/8/8/4K2R w K - 0 1", "h1h2 a8a7 h2h1 a7a8", 0},
		{"fields equal, side not", "4k3/8/8/8/8/8/4P3/3RK3 w - - 0 1", "d1d2 e8e7 d2d3 e7e8 d3d1", 0},
	}
	for _, c := range cases {
		h := NewHistory(mustFEN(t, c.fen))
		play(t, h, c.moves)
		if got := h.Repetitions(h.Len() - 1); got != c.reps {
			t.Errorf("%s: %d repetitions, want %d", c.name, got, c.reps)
		}
	}
}

// TestRepetitionAgainstScan recounts by looking at every earlier board.
func TestRepetitionAgainstScan(t *testing.T) {
	fens := []string{"8/8/3k4/8/8/3K4/8/R7 w - - 0 1", "4k2r/8/8/8/8/8/8/R3K3 w Qk - 0 1"}
	repeated := 0
	walkRandom(t, 6, fens, scale(8000), func(h *History, _ *MoveList) {
		n := h.Len() - 1
		count, last := 0, -1
		for i := range n {
			if h.At(i).samePosition(h.At(n)) {
				count, last = count+1, i
			}
		}
		if h.Repetitions(n) != count || h.RepetitionAt(n) != last {
			t.Fatalf("%s: %d at %d, want %d at %d", h.Board().FEN(), h.Repetitions(n), h.RepetitionAt(n), count, last)
		}
		repeated += count
	})
	if repeated == 0 {
		t.Error("no position repeated: the test tested nothing")
	}
}

func TestTerminal(t *testing.T) {
	cases := []struct {
		name, fen, moves string
		want             Terminal
	}{
		{"start", StartFEN, "", NotOver},
		{"fool's mate", StartFEN, "f2f3 e7e5 g2g4 d8h4", Checkmate},
		{"stalemate", "7k/8/6Q1/8/8/8/8/K7 b - - 0 1", "", Stalemate},
		{"bare kings", "8/8/8/4k3/8/8/2K5/8 w - - 0 1", "", Material},
		{"100 plies", "8/8/8/4k3/8/8/2K4R/8 w - - 99 80", "h2h3", FiftyMoves},
		{"99 plies", "8/8/8/4k3/8/8/2K4R/8 w - - 98 80", "h2h3", NotOver},
		{"mate comes before 100 plies", "7k/8/6K1/8/8/8/8/R7 w - - 99 80", "a1a8", Checkmate},
		{"second occurrence", StartFEN, "g1f3 g8f6 f3g1 f6g8", NotOver},
		{"third occurrence", StartFEN, "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8", Repetition},
		{"taken to bare kings", "8/8/8/4k3/8/8/2K5/3q4 w - - 0 1", "c2d1", Material},
	}
	for _, c := range cases {
		h := NewHistory(mustFEN(t, c.fen))
		play(t, h, c.moves)
		var l MoveList
		h.Board().GenerateMoves(&l)
		if got := h.Terminal(l.N); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if Checkmate.String() != "checkmate" || Terminal(99).String() != "unknown" {
		t.Error("names")
	}
}

// TestHistoryLine truncates, copies and resets a line.
func TestHistoryLine(t *testing.T) {
	h := NewHistory(StartBoard())
	play(t, h, "e2e4 e7e5 g1f3")
	o := NewHistory(mustFEN(t, starts[1]))
	o.CopyFrom(h)
	h.Truncate(2)
	if h.Len() != 2 || h.Board().FEN() != "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1" {
		t.Errorf("after Truncate: %d boards, %s", h.Len(), h.Board().FEN())
	}
	play(t, h, "c7c5")
	if o.Len() != 4 || o.At(2).UCI(o.MoveAt(2), false) != "g1f3" || *o.At(1) != *h.At(1) {
		t.Error("the copy changed with its source")
	}
	if o.At(1).UCI(o.MoveAt(1), false) != "e7e5" || h.At(1).UCI(h.MoveAt(1), false) != "c7c5" {
		t.Error("moves of the two lines")
	}
	h.Reset(StartBoard())
	if h.Len() != 1 || *h.At(0) != StartBoard() || h.Repetitions(0) != 0 || h.RepetitionAt(0) != -1 {
		t.Error("after Reset")
	}
}
