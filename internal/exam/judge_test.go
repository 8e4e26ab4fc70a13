package exam

import (
	"errors"
	"math"
	"os/exec"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

func TestCorrelate(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		values []float64
		scores []float64
		want   float64
		n      int
	}{
		{"a line", []float64{1, 2, 3, 4}, []float64{-1, 1, 3, 5}, 1, 4},
		{"against it", []float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}, -1, 4},
		{"known", []float64{1, 2, 3, 4, 5}, []float64{2, 1, 4, 3, 5}, 0.8, 5},
		{"one not known", []float64{1, nan, 2, 3, 4, 5}, []float64{2, 9, 1, 4, 3, 5}, 0.8, 5},
		{"all the same", []float64{1, 1, 1, 1}, []float64{2, 1, 4, 3}, 0, 4},
		{"too few", []float64{1, 2}, []float64{1, 2}, 0, 2},
	} {
		got := Correlate(c.name, c.values, c.scores)
		if math.Abs(got.R-c.want) > 1e-9 || got.N != c.n || got.Low > got.R || got.High < got.R {
			t.Errorf("%+v, want %v of %d", got, c.want, c.n)
		}
	}
	many, scores := make([]float64, 1000), make([]float64, 1000)
	for i := range many {
		many[i], scores[i] = math.Sin(float64(i)), math.Sin(float64(i))+math.Cos(7*float64(i))
	}
	if c := Correlate("many", many, scores); math.Abs(c.R-math.Sqrt2/2) > 0.02 || c.High-c.Low < 0.05 || c.High-c.Low > 0.08 {
		t.Errorf("%+v", c)
	}
}

func TestExpectedScore(t *testing.T) {
	for want, a := range map[float64]uci.Answer{
		0.5:  {Scored: true, WDL: [3]int{600, 300, 100}, Score: -500},
		0:    {Scored: true},
		-0.5: {Scored: true, Score: -191},
	} {
		if got := ExpectedScore(&a); math.Abs(got-want) > 1e-3 {
			t.Errorf("%+v: %v, want %v", a, got, want)
		}
	}
}

// An engine sees who is a queen ahead.
func TestJudge(t *testing.T) {
	path, err := uci.FindEngine("stockfish")
	if err != nil {
		t.Skip("SKIPPED, no engine judges here (apt-get install stockfish): ", err)
	}
	var lines []*chess.History
	for _, fen := range []string{"4k3/8/8/8/8/8/PPPP4/3QK3 w - - 0 1", "4k3/8/8/8/8/8/PPPP4/3QK3 b - - 0 1", chess.StartFEN} {
		b := chesstest.Board(t, fen)
		lines = append(lines, chess.NewHistory(b))
	}
	answers, err := Judge(t.Context(), path, lines, 1000, 2)
	var got []float64
	for i := range answers {
		got = append(got, ExpectedScore(&answers[i]))
	}
	if err != nil || got[0] < 0.9 || got[1] > -0.9 || math.Abs(got[2]) > 0.5 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Judge(t.Context(), "no-such-engine", lines, 1000, 2); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("without an engine: %v", err)
	}
}

// A queen that is free is worth taking; a defended piece is not, and a piece
// beside whose capture another move is as good is not either.
func TestWorthTaking(t *testing.T) {
	path, err := uci.FindEngine("stockfish")
	if err != nil {
		t.Skip("SKIPPED, no engine judges here (apt-get install stockfish): ", err)
	}
	var lines []*chess.History
	var at []chess.Square
	want := []bool{true, false, false}
	for _, c := range []struct {
		fen string
		at  chess.Square
	}{
		{"4k3/8/8/3q4/8/4N3/PP6/4K3 w - - 0 1", 35},    // d5: a queen for nothing
		{"4k3/8/2p5/3n4/8/4N3/PP6/3QK3 w - - 0 1", 35}, // defended: a knight for a knight
		{"7k/5Qn1/6K1/8/8/8/8/8 w - - 0 1", 54},        // g7: mate, but so is f8
	} {
		b := chesstest.Board(t, c.fen)
		lines, at = append(lines, chess.NewHistory(b)), append(at, c.at)
	}
	got, err := WorthTaking(t.Context(), path, lines, at, 2000, 2)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v; %v", got, want, err)
	}
}
