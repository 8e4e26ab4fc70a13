package plugintest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// TestGames holds the suite's own games against the rules of records, and looks
// whether they cover what records can hold.
func TestGames(t *testing.T) {
	seed := freshSeed(t)
	games := append(Games(seed, 400), EdgeGames(seed)...)
	again := append(Games(seed, 400), EdgeGames(seed)...)
	ids := map[[16]byte]bool{}
	seen := map[string]int{}
	for i, g := range games {
		if err := g.Validate(); err != nil {
			t.Fatalf("game %d: %v", i, err)
		}
		if !bytes.Equal(mustEncode(g), mustEncode(again[i])) {
			t.Fatalf("game %d is another one the second time", i)
		}
		if ids[g.ID] {
			t.Fatalf("game %d: its id was there before", i)
		}
		ids[g.ID] = true
		cover(seen, g)
	}
	wanted := []string{"no plies", "chess960", "results", "extra", "no weight", "proven", "unknown value",
		"kind 0", "kind 1", "kind 2", "end checkmate", "end unknown", "end resign", "end tablebase", "end max-plies", "end aborted", "end material"}
	for _, what := range wanted {
		if seen[what] == 0 {
			t.Errorf("no game with %s; there are %v", what, seen)
		}
	}
	if n := len(games[400+4].Plies); n != 450 {
		t.Errorf("the long game has %d plies, want 450", n)
	}
}

// cover counts what a game has.
func cover(seen map[string]int, g *record.Game) {
	note := func(what string, has bool) {
		if has {
			seen[what]++
		}
	}
	note("no plies", len(g.Plies) == 0)
	note("chess960", g.Flags&record.Chess960 != 0 && len(g.Plies) > 10)
	note("results", g.Results != nil)
	note("extra", g.Extra != nil)
	note("end "+g.End.String(), true)
	for i := range g.Plies {
		p := &g.Plies[i]
		note("no weight", p.Weight == 0)
		note("proven", p.Flags&record.BestProven != 0 && p.Best.Q == 1)
		note("unknown value", p.Root.Q != p.Root.Q)
		note([]string{"kind 0", "kind 1", "kind 2"}[p.Kind], true)
	}
}

// TestWindow holds a window that slides against plain sums over its games.
func TestWindow(t *testing.T) {
	seed := freshSeed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	w := NewWindow(rng, 30)
	for range 6 {
		type place struct {
			game uint64
			ply  int32
		}
		var rows []place
		var ends []uint64
		sum := uint64(0)
		for i := range w.NumGames() {
			info := w.Game(i)
			if at, ok := w.Find(info.Seq); !ok || at != i || info.Age != w.NumGames()-1-i || info.NumRows < 1 || info.Plies < info.NumRows {
				t.Fatalf("game %d: %+v, found at %d, %v", i, info, at, ok)
			}
			if i > 0 && w.Game(i-1).Seq >= info.Seq {
				t.Fatalf("game %d: number %d after %d", i, info.Seq, w.Game(i-1).Seq)
			}
			weight := uint64(0)
			for k := range info.NumRows {
				r := w.Row(i, k)
				if r.Weight == 0 || int(r.Ply) >= info.Plies || k > 0 && w.Row(i, k-1).Ply >= r.Ply {
					t.Fatalf("game %d, row %d: %+v", i, k, r)
				}
				if s := w.Stats(i, k); s.QDiff < 0 || s.QDiff > 2 || s.KLD < 0 {
					t.Fatalf("game %d, row %d: %+v", i, k, s)
				}
				weight += r.Weight
				sum += r.Weight
				rows, ends = append(rows, place{info.Seq, r.Ply}), append(ends, sum)
			}
			if weight != info.Weight {
				t.Fatalf("game %d: weight %d, its rows have %d", i, info.Weight, weight)
			}
		}
		if w.NumRows() != len(rows) || w.WeightSum() != sum {
			t.Fatalf("%d rows of weight %d, want %d of %d", w.NumRows(), w.WeightSum(), len(rows), sum)
		}
		for n, want := range rows {
			if game, ply := w.NthRow(n); (place{game, ply}) != want || !stage.Holds(w, game, ply) {
				t.Fatalf("row %d: game %d, ply %d, want %+v", n, game, ply, want)
			}
			for _, u := range []uint64{ends[n] - w.weightOf(want.game, want.ply), ends[n] - 1} {
				if game, ply := w.RowAt(u); (place{game, ply}) != want {
					t.Fatalf("weight %d: game %d, ply %d, want %+v", u, game, ply, want)
				}
			}
		}
		if stage.Holds(w, 1<<40, 0) || stage.Holds(w, w.Game(0).Seq, 1000) {
			t.Fatal("it has rows that there are not")
		}
		w = w.Slide(rng, rng.IntN(w.NumGames()), 1+rng.IntN(20))
	}
	if empty := NewWindow(rng, 0); empty.NumGames() != 0 || empty.NumRows() != 0 || empty.WeightSum() != 0 {
		t.Errorf("the empty window has %d games, %d rows", empty.NumGames(), empty.NumRows())
	}
	var _ stage.Index = w
}

// weightOf returns the weight of a row by its name.
func (w *Window) weightOf(game uint64, ply int32) uint64 {
	i, _ := w.Find(game)
	for k := range w.Game(i).NumRows {
		if r := w.Row(i, k); r.Ply == ply {
			return r.Weight
		}
	}
	return 0
}

// TestSlideKeeps checks that sliding leaves the old window as it was, and that
// games keep their numbers.
func TestSlideKeeps(t *testing.T) {
	rng := rand.New(rand.NewPCG(freshSeed(t), 0))
	old := NewWindow(rng, 10)
	rows, sum, third := old.NumRows(), old.WeightSum(), old.Game(3)
	next := old.Slide(rng, 3, 4)
	if old.NumGames() != 10 || old.NumRows() != rows || old.WeightSum() != sum || old.Game(3) != third {
		t.Error("the old window changed")
	}
	kept := next.Game(0)
	if next.NumGames() != 11 || kept.Seq != third.Seq || kept.ID != third.ID || kept.Age != 10 {
		t.Errorf("the oldest game is %+v, before it was %+v", kept, third)
	}
}
