package arena

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// end returns the line of an opening.
func end(o *Opening) *chess.History {
	h := chess.NewHistory(o.Board)
	setLine(h, o)
	return h
}

// TestVary holds the promises of random openings.
func TestVary(t *testing.T) {
	openings, err := Vary(nil, 300, 8, 11)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range openings {
		h := end(&openings[i])
		var l chess.MoveList
		h.Board().GenerateMoves(&l)
		if h.Len() != 9 || h.Board().MaterialBalance() != 0 || h.Terminal(l.N) != chess.NotOver || slices.ContainsFunc(l.Slice(), h.Board().Mates) {
			t.Errorf("opening %d: %d plies to %s", i, h.Len()-1, h.Board().FEN())
		}
		placement := strings.Join(strings.Fields(h.Board().FEN())[:4], " ")
		if seen[placement] {
			t.Errorf("%s is there twice", placement)
		}
		seen[placement] = true
	}
	fewer, err := Vary(nil, 100, 8, 11)
	if err != nil || !reflect.DeepEqual(fewer, openings[:100]) {
		t.Errorf("100 openings are not the first of 300 (%v)", err)
	}
	other, err := Vary(nil, 100, 8, 12)
	if err != nil || reflect.DeepEqual(other, fewer) {
		t.Errorf("another seed gives the same openings (%v)", err)
	}
}

// TestVaryLimits: there are 20 first moves.
func TestVaryLimits(t *testing.T) {
	if openings, err := Vary(nil, 20, 1, 1); err != nil || len(openings) != 20 {
		t.Errorf("20 openings of one ply: %d, %v", len(openings), err)
	}
	if _, err := Vary(nil, 21, 1, 1); err == nil || !strings.Contains(err.Error(), "only 20 different") {
		t.Errorf("21 openings of one ply: %v", err)
	}
	if _, err := Vary(nil, 2, 0, 1); err == nil || !strings.Contains(err.Error(), "1 different positions, want 2") {
		t.Errorf("two openings without a ply: %v", err)
	}
}

// TestVaryBook: positions of a list in their order, once each; random plies
// keep their balance; a finished game is refused.
func TestVaryBook(t *testing.T) {
	knightUp := chesstest.Board(t, "rnbqkb1r/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1")
	again := chesstest.Board(t, "rnbqkb1r/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 4 9")
	book := []Opening{{Board: knightUp}, {Board: again}, {Board: chess.StartBoard()}}
	got, err := Vary(book, 2, 0, 1)
	if err != nil || len(got) != 2 || got[0].Board != knightUp || got[1].Board != chess.StartBoard() {
		t.Errorf("the list's two positions: %v, %v", got, err)
	}
	varied, err := Vary(book[:1], 50, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range varied {
		if b := end(&varied[i]).Board(); b.MaterialBalance() != -3 { // black is to move
			t.Errorf("balance %d in %s", b.MaterialBalance(), b.FEN())
		}
	}
	mated := Opening{Board: chesstest.Board(t, "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1")}
	if _, err := Vary([]Opening{mated}, 1, 0, 1); err == nil || !strings.Contains(err.Error(), "over (checkmate) after opening 1, 7k/6Q1") {
		t.Errorf("a mate as opening: %v", err)
	}
}

// TestShuffle is a permutation given by the seed.
func TestShuffle(t *testing.T) {
	openings, err := Vary(nil, 50, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	order := func(seed uint64) (keys []uint64) {
		shuffled := append([]Opening(nil), openings...)
		Shuffle(shuffled, seed)
		for i := range shuffled {
			keys = append(keys, end(&shuffled[i]).Board().Key())
		}
		return keys
	}
	if !reflect.DeepEqual(order(1), order(1)) || reflect.DeepEqual(order(1), order(2)) {
		t.Error("the order does not follow from the seed")
	}
	distinct := map[uint64]bool{}
	for _, k := range order(3) {
		distinct[k] = true
	}
	if len(distinct) != 50 {
		t.Errorf("%d of 50 openings after the shuffle", len(distinct))
	}
}

// TestReadPGN reads openings of two games, whole and cut.
func TestReadPGN(t *testing.T) {
	const text = "[Event \"a\"]\n\n1. e4 c5 2. Nf3 d6 *\n\n[Event \"b\"]\n[FEN \"4k3/8/8/8/8/8/P7/4K3 w - - 0 1\"]\n[SetUp \"1\"]\n\n1. a4 *\n"
	for plies, want := range map[int][2]int{0: {4, 1}, 2: {2, 1}} {
		got, err := ReadPGN(strings.NewReader(text), plies)
		if err != nil || len(got) != 2 || len(got[0].Moves) != want[0] || len(got[1].Moves) != want[1] {
			t.Errorf("%d plies: %v, %v", plies, got, err)
		}
	}
	if _, err := ReadPGN(strings.NewReader("[Event \"a\"]\n\n1. e5 *\n"), 0); err == nil || !strings.Contains(err.Error(), "line") {
		t.Errorf("an illegal move: %v", err)
	}
	if _, err := ReadPGN(strings.NewReader(""), 0); err == nil {
		t.Error("an empty file has openings")
	}
}
