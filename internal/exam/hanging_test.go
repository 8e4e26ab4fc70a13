package exam

import (
	"context"
	"math/bits"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/mcts"
)

func TestFreePiece(t *testing.T) {
	for _, c := range []struct{ name, fen, at string }{
		{"a free queen", "4k3/8/8/3q4/8/4N3/8/4K3 w - - 0 1", "d5"},
		{"two ways to take it", "4k3/8/8/3q4/4P3/4N3/8/4K3 w - - 0 1", "d5"},
		{"a defended knight for a rook", "4k3/8/4p3/3n4/8/8/8/3RK3 w - - 0 1", ""},
		{"a defended rook for a knight: two up", "4k3/8/4p3/3r4/8/4N3/8/4K3 w - - 0 1", ""},
		{"a defended queen for a knight", "4k3/8/4p3/3q4/8/4N3/8/4K3 w - - 0 1", "d5"},
		{"a free pawn", "4k3/8/8/3p4/8/4N3/8/4K3 w - - 0 1", ""},
		{"two free pieces", "4k3/8/8/3q1q2/8/4N3/8/4K3 w - - 0 1", ""},
		{"Black's turn, who sees d5 as d4", "4k3/8/8/3Q4/8/4n3/8/4K3 b - - 0 1", "d4"},
		{"nothing to take", chess.StartFEN, ""},
	} {
		b := chesstest.Board(t, c.fen)
		at, ok := FreePiece(&b)
		if ok != (c.at != "") || ok && at.String() != c.at {
			t.Errorf("%s: %v %v, want %q", c.name, at, ok, c.at)
		}
	}
}

// materialist is a net whose value is the material on the board.
type materialist struct{}

func (materialist) Evaluate(_ context.Context, batch *encoding.Batch) error {
	for row := range batch.N {
		q := 0
		for piece, value := range []int{1, 3, 3, 5, 9} {
			q += value * (bits.OnesCount64(batch.Masks[row][piece]) - bits.OnesCount64(batch.Masks[row][6+piece]))
		}
		win := 0.5 + float32(q)/40
		batch.WDL[row], batch.M[row] = [3]float32{win, 0, 1 - win}, 1
		prior := batch.PriorOf(row)
		for k := range prior {
			prior[k] = 1 / float32(len(prior))
		}
	}
	return nil
}

// A search that looks one move ahead with material as its value takes what is free.
func TestTakes(t *testing.T) {
	var lines []*chess.History
	var at []chess.Square
	for _, fen := range []string{"4k3/8/8/3q4/8/4N3/8/4K3 w - - 0 1", "4k3/8/8/3Q4/8/4n3/8/4K3 b - - 0 1", "4k3/8/8/3r4/8/8/8/3RK3 w - - 0 1"} {
		b := chesstest.Board(t, fen)
		square, _ := FreePiece(&b)
		lines, at = append(lines, chess.NewHistory(b)), append(at, square)
	}
	search := mcts.DefaultConfig()
	search.Simulations = 100
	c, err := Takes(t.Context(), materialist{}, search, lines, at, 1)
	if err != nil || c != (Count{3, 3}) {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = Takes(t.Context(), materialist{}, search, lines, []chess.Square{0, 1, 2}, 1)
	if err != nil || c != (Count{0, 3}) {
		t.Errorf("other squares: %+v, %v", c, err)
	}
	if low, high := (&Count{475, 500}).Interval(); low < 0.927 || low > 0.928 || high < 0.965 || high > 0.967 {
		t.Errorf("95 %% of 500: %v to %v", low, high)
	}
}
