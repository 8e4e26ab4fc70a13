package prepare

import (
	"math"
	"reflect"
	"testing"

	"github.com/chessbrain/chessbrain/record"
)

// TestSelect: a game of 8 plies has the rows 0 1 3 4 6 7 (every third ply has no
// policy), whose weights are one more than their numbers.
func TestSelect(t *testing.T) {
	g := testGame(t, 1, 1, 8)
	before := g.Clone()
	for text, want := range map[string][]int{
		"all":         {1, 2, 3, 4, 5, 6, 7, 8},
		"final":       {0, 0, 3, 0, 0, 6, 0, 8},
		"penultimate": {0, 0, 3, 0, 0, 6, 7, 0},
		"every-1":     {1, 2, 3, 4, 5, 6, 7, 8},
	} {
		if got := weights(mustSelect(t, text, 5).Select(g)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: weights %v, want %v", text, got, want)
		}
	}
	if !reflect.DeepEqual(g, before) {
		t.Error("the game was changed")
	}
	if mustSelect(t, "all", 0).Select(g) != g {
		t.Error("all made a copy")
	}
	one := testGame(t, 2, 2, 1)
	hasRows := func(text string) bool { return mustSelect(t, text, 0).Select(one).NumRows() > 0 }
	if hasRows("penultimate") || !hasRows("final") {
		t.Error("a game of one row")
	}
	empty := testGame(t, 3, 3, 0)
	for _, text := range []string{"final", "penultimate", "every-2", "one-per-game"} {
		out := mustSelect(t, text, 1).Select(empty)
		if len(out.Plies) != 0 || out.Validate() != nil {
			t.Errorf("%s of an empty game: %+v", text, out)
		}
		if out := mustSelect(t, text, 1).Select(g); out.Validate() != nil || out.ID != g.ID {
			t.Errorf("%s: %+v", text, out)
		}
	}
	for _, bad := range []string{"", "first", "every-", "every-0", "every-x", "every-03", "every-10001", "every--1"} {
		if s, err := ParseSelector(bad, 0); err == nil {
			t.Errorf("%q was read as %v", bad, s)
		}
	}
}

// TestSelectAtRandom: one-per-game and every-K choose by seed and id alone, each
// row equally often. With 6000 games a share of 1/6 stays within five standard
// deviations (0.0048) but once in two million.
func TestSelectAtRandom(t *testing.T) {
	const games = 6000
	g := testGame(t, 1, 1, 8) // rows 0 1 3 4 6 7
	var one, every [8]int
	for i := range games {
		g.ID = record.GameID(3, 1, uint64(i))
		for text, counts := range map[string]*[8]int{"one-per-game": &one, "every-3": &every} {
			out := mustSelect(t, text, 11).Select(g)
			if again := mustSelect(t, text, 11).Select(g); !reflect.DeepEqual(weights(out), weights(again)) {
				t.Fatalf("%s: another choice the second time", text)
			}
			rows := 0
			for ply := range out.Plies {
				if out.Plies[ply].Trained() {
					counts[ply]++
					rows++
				}
			}
			if want := map[string]int{"one-per-game": 1, "every-3": 2}[text]; rows != want {
				t.Fatalf("%s: %d rows, want %d", text, rows, want)
			}
		}
	}
	for ply, want := range []float64{1, 1, 0, 1, 1, 0, 1, 1} {
		if share := float64(one[ply]) / games; math.Abs(share-want/6) > 5*0.0048 {
			t.Errorf("one-per-game: ply %d in %.4f of the games", ply, share)
		}
		if share := float64(every[ply]) / games; math.Abs(share-want/3) > 5*0.0061 {
			t.Errorf("every-3: ply %d in %.4f of the games", ply, share)
		}
	}
	differs := false
	for i := range 100 {
		g.ID = record.GameID(3, 1, uint64(i))
		a, b := mustSelect(t, "one-per-game", 1).Select(g), mustSelect(t, "one-per-game", 2).Select(g)
		differs = differs || !reflect.DeepEqual(weights(a), weights(b))
	}
	if !differs {
		t.Error("the seed changes nothing")
	}
}

// TestMovesKey: start and moves make a game, nothing else does.
func TestMovesKey(t *testing.T) {
	a := testGame(t, 1, 1, 8)
	b := a.Clone()
	b.ID, b.WhiteResult, b.Plies[0].Weight = [16]byte{1}, 1, 7
	if movesKey(a) != movesKey(b) {
		t.Error("the same moves are another game")
	}
	shorter := a.Clone()
	shorter.Plies = shorter.Plies[:7]
	elsewhere := a.Clone()
	elsewhere.Start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 3 9"
	for i, g := range []*record.Game{shorter, elsewhere, testGame(t, 2, 2, 8)} {
		if movesKey(g) == movesKey(a) {
			t.Errorf("game %d", i)
		}
	}
}
