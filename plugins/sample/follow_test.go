package sample

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// moves is a walk of a window: mostly it slides, now and then it jumps, grows at
// its old end, loses its newest games, or is another one.
func moves(rng *rand.Rand, n int) (windows []*testWindow) {
	l := randomGames(rng, 400, 12)
	twin := &testGames{} // the same games but one in ten
	for i, g := range l.games {
		if i%10 == 5 {
			g = randomGame(rng, g.info.Seq, 12)
		}
		twin.add(g)
	}
	lo, hi := 20, 60
	for range n {
		switch rng.IntN(20) {
		case 0:
			lo, hi = 5+rng.IntN(100), 110+rng.IntN(100)
		case 1:
			lo -= rng.IntN(5)
		case 2:
			hi -= rng.IntN(5)
		case 3:
			lo, hi = hi, hi+30
		case 4:
			l, twin = twin, l
		default:
			lo, hi = lo+rng.IntN(4), hi+rng.IntN(4)
		}
		if hi > 300 {
			lo, hi = 20, 60
		}
		lo = max(0, min(lo, hi-20))
		windows = append(windows, l.window(lo, hi))
	}
	return windows
}

// A sampler that followed the window gives the rows of one that has just been
// loaded with its state, however the window moves.
func TestFollowing(t *testing.T) {
	rng := fresh(t)
	for _, subject := range subjects {
		s := subject.sampler(t, rng.Uint64())
		for step, w := range moves(rng, 150) {
			again := subject.sampler(t, 0)
			if err := load(again, saved(t, s)); err != nil {
				t.Fatal(err)
			}
			want, err1 := s.next(w, 25, nil)
			got, err2 := again.next(w, 25, nil)
			if (err1 == nil) != (err2 == nil) || !slices.Equal(got, want) {
				t.Fatalf("%v, step %d: %v, %v; a new one gives %v, %v", subject, step, want, err1, got, err2)
			}
			if !bytes.Equal(saved(t, again), saved(t, s)) {
				t.Fatalf("%v, step %d: the states differ afterwards", subject, step)
			}
		}
	}
}

// A table over a moving window is that of a new one: every row, by every weight
// that it covers.
func TestTable(t *testing.T) {
	rng := fresh(t)
	weigh := func(idx stage.Index, g *stage.GameInfo, i, k int) uint64 {
		if g.Plies%4 == 0 || k%3 == 1 {
			return 0 // whole games, and rows amid others
		}
		return idx.Row(i, k).Weight
	}
	moving := table{weigh: weigh, end: 1<<64 - 1000} // so that sums run over the end of uint64
	for step, w := range moves(rng, 300) {
		if err := moving.update(w); err != nil {
			t.Fatal(err)
		}
		u := uint64(0)
		for i := range w.NumGames() {
			g := w.Game(i)
			for k := range g.NumRows {
				weight := weigh(w, &g, i, k)
				if got := moving.weightAt(i, k); got != weight {
					t.Fatalf("step %d: row %d of game %d weighs %d, want %d", step, k, i, got, weight)
				}
				if weight == 0 {
					continue
				}
				for _, at := range []uint64{u, u + weight - 1} {
					if gotI, gotK := moving.at(at); gotI != i || gotK != k {
						t.Fatalf("step %d: %d is covered by row %d of game %d, want %d of %d", step, at, gotK, gotI, k, i)
					}
				}
				u += weight
			}
		}
		if moving.total != u {
			t.Fatalf("step %d: the weights add up to %d, want %d", step, moving.total, u)
		}
	}
	if len(moving.sums) > 700 {
		t.Errorf("%d entries are kept for windows of at most 300 games", len(moving.sums))
	}
}

// Weights whose sum does not fit are an error, after which the table goes on
// with those of another window.
func TestTableOverflow(t *testing.T) {
	s := subject{"position-selector", nil}.sampler(t, 1)
	big := testGame{info: stage.GameInfo{Seq: 1, Plies: 2}, rows: []stage.RowInfo{{Ply: 0, Weight: 1 << 63}, {Ply: 1, Weight: 1 << 63}}, stats: make([]stage.RowStats, 2)}
	one, two := &testGames{}, &testGames{}
	one.add(big)
	big.rows = big.rows[:1]
	two.add(big)
	big.info.Seq = 2
	two.add(big)
	for _, idx := range []stage.Index{one.window(0, 1), two.window(0, 2)} {
		if refs, err := s.next(idx, 1, nil); err != errWeights || len(refs) != 0 {
			t.Errorf("%v, %v", refs, err)
		}
	}
	drawn(t, s, two.window(0, 1), 1)
	drawn(t, s, two.window(1, 2), 1)
}

// What a batch costs beside its rows is in proportion to what changed in the
// window, not to its size.
func TestWorkIsWhatChanged(t *testing.T) {
	l := randomGames(fresh(t), 3000, 40)
	for _, subject := range subjects {
		s := subject.sampler(t, 1)
		lo, hi := 0, 2000
		s.follow(t, l.window(lo, hi))
		for range 500 {
			lo, hi = lo+1, hi+1
			l.rowAccesses, l.gameAccesses = 0, 0
			s.follow(t, l.window(lo, hi))
			if l.rowAccesses > 2*len(l.games[hi-1].rows) || l.gameAccesses > 12 {
				t.Fatalf("%v: a game of %d rows came: %d rows and %d games were looked at", subject, len(l.games[hi-1].rows), l.rowAccesses, l.gameAccesses)
			}
		}
	}
}

// The largest weight of a moving window is that of a walk over it.
func TestPeak(t *testing.T) {
	rng := fresh(t)
	hanse := subject{"hanse", nil}.sampler(t, 1).inside().(*hanse)
	for step, w := range moves(rng, 500) {
		hanse.update(w)
		want := 0.0
		for i := range w.NumGames() {
			g := w.Game(i)
			want = max(want, hanse.weightOf(&g))
		}
		if got := hanse.largest.max(); got != want {
			t.Fatalf("step %d: %v, want %v", step, got, want)
		}
	}
	if len(hanse.largest.seqs) > 700 {
		t.Errorf("%d games are kept for windows of at most 300", len(hanse.largest.seqs))
	}
}
