package selfplay

import (
	"cmp"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// quietReference is quietBalance written plainly: every capture and promotion, no
// window, no order; known remembers positions.
func quietReference(b chess.Board, known map[chess.Board]int) int {
	if v, ok := known[b]; ok {
		return v
	}
	best, check := b.MaterialBalance(), b.InCheck()
	var legal chess.MoveList
	b.GenerateMoves(&legal)
	if check {
		best = -1000 // mated
	} else if legal.N == 0 {
		best = 0
	}
	for _, m := range legal.Slice() {
		if check || b.Gain(m) > 0 {
			child := b
			child.Make(m)
			best = max(best, -quietReference(child, known))
		}
	}
	known[b] = best
	return best
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		why, fen string
		pawns    int
		want     int8
	}{
		{"a queen that hangs", "4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", 1, 1},
		{"the same, the other to move", "4k3/8/8/3q4/4P3/8/8/4K3 b - - 0 1", 1, 1},
		{"a knight to take back", "4k3/8/8/8/8/2n5/1P6/4K3 w - - 0 1", 1, 1},
		{"a queen that is lost for a rook", "4k3/8/2p5/3r4/8/8/8/3QK3 b - - 0 1", 1, 1},
		{"a pawn that promotes", "8/P6k/8/8/8/8/8/K1b5 w - - 0 1", 5, 1},
		{"mated", "7k/6Q1/6K1/8/8/8/8/rrr5 b - - 0 1", 2, -1},
		{"stalemate", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", 2, 0},
		{"in check, the checker can be taken", "4k3/8/8/8/8/8/3q4/4K3 w - - 0 1", 1, 0},
		{"nobody leads by nothing", "4k3/8/8/8/8/8/3Q4/4K3 w - - 0 1", 0, 0},
	} {
		b := chesstest.Board(t, c.fen)
		if got := leader(&b, c.pawns); got != c.want {
			t.Errorf("%s: %d by %d pawns in %s, want %d", c.why, got, c.pawns, c.fen, c.want)
		}
	}
}

// The verdict is what all captures that there are come to, in endings of eight men.
func TestVerdictIsExact(t *testing.T) {
	rng, leads := rand.New(rand.NewPCG(1, 2)), map[int8]int{}
	for range 3000 {
		squares := rng.Perm(48) // not the last ranks: no man is a pawn there
		board := [64]byte{}
		for i, man := range "KkQrnPbp"[:] {
			board[squares[i]+8] = byte(man)
		}
		text := ""
		for i, man := range board {
			text += string(cmp.Or(man, '.'))
			if i%8 == 7 && i < 63 {
				text += "/"
			}
		}
		for n := 8; n > 0; n-- {
			text = strings.ReplaceAll(text, strings.Repeat(".", n), strconv.Itoa(n))
		}
		b, err := chess.ParseFEN(text + " w - - 0 1")
		if err != nil {
			continue // black is in check
		}
		want := int8(0)
		if lead := quietReference(b, map[chess.Board]int{}); lead >= 2 {
			want = 1
		} else if lead <= -2 {
			want = -1
		}
		if got := leader(&b, 2); got != want {
			t.Errorf("%s: %d, want %d", b.FEN(), got, want)
		}
		leads[want]++
	}
	if leads[-1] < 100 || leads[0] < 100 || leads[1] < 100 {
		t.Errorf("verdicts seen: %v", leads)
	}
}
