package arena

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// TestGreedyMoves holds the player's choice where there is one.
func TestGreedyMoves(t *testing.T) {
	for _, c := range []struct{ name, fen, want string }{
		{"mates rather than takes the queen", "6k1/5ppp/8/8/7q/6P1/5P1P/4R1K1 w - - 0 1", "e1e8"},
		{"takes the free rook", "4k3/8/8/3r4/8/8/3R4/4K3 w - - 0 1", "d2d5"},
		{"does not take a pawn for a rook", "4k3/8/2p5/3p4/8/8/7P/K2R4 w - - 0 1", ""},
		{"saves the queen", "k7/8/8/3p4/4Q3/8/8/4K2R w K - 0 1", ""},
		{"promotes to a queen", "7k/P7/8/8/8/8/8/K7 w - - 0 1", "a7a8q"},
		{"takes and promotes", "1r5k/P7/8/8/8/8/8/K7 w - - 0 1", "a7b8q"},
		{"en passant", "4k3/8/8/8/4Pp2/8/8/4K3 b - e3 0 1", "f4e3"},
	} {
		b := chesstest.Board(t, c.fen)
		var legal chess.MoveList
		b.GenerateMoves(&legal)
		for seed := range uint64(20) {
			got := b.UCI(greedyMove(&b, &legal, rand.New(rand.NewPCG(seed, 0))), false)
			switch {
			case c.want != "" && got != c.want:
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			case c.name == "does not take a pawn for a rook" && got == "d1d5":
				t.Errorf("%s: %s", c.name, got)
			case c.name == "saves the queen" && !saved(b, got):
				t.Errorf("%s: %s", c.name, got)
			}
		}
	}
}

// saved reports whether no pawn can take the queen after a move.
func saved(b chess.Board, move string) bool {
	m, err := b.ParseUCI(move)
	if err != nil {
		return false
	}
	b.Make(m)
	var answers chess.MoveList
	b.GenerateMoves(&answers)
	for _, a := range answers.Slice() {
		if pt, _ := b.PieceAt(a.To()); b.IsCapture(a) && pt == chess.Queen {
			return false
		}
	}
	return true
}

// TestGreedyReference compares with the definition written down otherwise, by
// the material on the board before and after, in positions of random games. All
// moves of the highest score are played, each about as often.
func TestGreedyReference(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	for range 30 {
		h := chess.NewHistory(chess.StartBoard())
		var legal chess.MoveList
		for h.Board().GenerateMoves(&legal); h.Terminal(legal.N) == chess.NotOver; h.Board().GenerateMoves(&legal) {
			best := referenceGreedy(*h.Board(), &legal)
			if m := greedyMove(h.Board(), &legal, rng); !best[m] {
				t.Fatalf("%s: plays %s, the best are %v", h.Board().FEN(), m, best)
			}
			h.Push(legal.Moves[rng.IntN(legal.N)])
		}
	}
	start, counts := chess.StartBoard(), map[chess.Move]int{}
	var legal chess.MoveList
	start.GenerateMoves(&legal)
	const draws = 20000 // of 20 equal moves: 1000 each, deviation 31
	for range draws {
		counts[greedyMove(&start, &legal, rng)]++
	}
	for _, m := range legal.Slice() {
		if n := counts[m]; n < 1000-190 || n > 1000+190 { // 6 deviations
			t.Errorf("%s is played %d times of %d, want about 1000", m, n, draws)
		}
	}
}

// referenceGreedy returns the moves that the greedy player may play.
func referenceGreedy(b chess.Board, legal *chess.MoveList) map[chess.Move]bool {
	scores, high := map[chess.Move]int{}, -1000
	for _, m := range legal.Slice() {
		child := b
		child.Make(m)
		var answers chess.MoveList
		child.GenerateMoves(&answers)
		if answers.N == 0 && child.InCheck() {
			return map[chess.Move]bool{m: true}
		}
		score := -child.MaterialBalance() // had the opponent nothing to gain
		for _, a := range answers.Slice() {
			grandchild := child
			grandchild.Make(a)
			score = min(score, grandchild.MaterialBalance())
		}
		scores[m], high = score, max(high, score)
	}
	best := map[chess.Move]bool{}
	for m, score := range scores {
		if score == high {
			best[m] = true
		}
	}
	return best
}

// An erratic player makes its share of random moves, the player the others.
func TestErratic(t *testing.T) {
	b := chess.StartBoard()
	line := chess.NewHistory(b)
	var legal chess.MoveList
	b.GenerateMoves(&legal)
	first := &chooser{"first", func(_ *chess.Board, l *chess.MoveList, _ *rand.Rand) chess.Move { return l.Moves[0] }}
	table, err := Erratic("half", first, 0.5).NewTable(1)
	if err != nil {
		t.Fatal(err)
	}
	seat, others := table.NewSeat(), 0
	seat.Start(line, chess.White, rand.New(rand.NewPCG(1, 1)))
	const moves = 4000
	for range moves {
		if a, ok := seat.Step(line, &legal); !ok {
			t.Fatal("a chooser waits")
		} else if a.Move != legal.Moves[0] {
			others++
		}
	}
	if want := moves / 2 * (legal.N - 1) / legal.N; others < want-150 || others > want+150 {
		t.Errorf("%d other moves of %d, want some %d", others, moves, want)
	}
}
