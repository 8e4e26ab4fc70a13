package replay

import (
	"math"
	"reflect"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// The rows of testGame's first ten plies are 0, 1, 3, 6 and 7: those at i%3 = 2
// have no policy, those at i%5 = 4 weight 0.
func TestViewStats(t *testing.T) {
	g := testGame(3, 10).Clone()
	nan := float32(math.NaN())
	for ply, p := range map[int]struct {
		best, orig, kld float32
		visits          uint32
	}{
		0: {best: .75, orig: -.25, kld: .5, visits: 800},
		1: {best: -.5, orig: .25, kld: 0, visits: 1},
		2: {best: 1, orig: -1, kld: 9, visits: 9}, // no row
		3: {best: nan, orig: .25, kld: 2, visits: 0},
		6: {best: .25, orig: nan, kld: -1e-7, visits: 33},
		7: {best: .25, orig: .25, kld: 3, visits: 1 << 31},
	} {
		g.Plies[ply].Best, g.Plies[ply].Orig = encoding.QDM{Q: p.best}, encoding.QDM{Q: p.orig}
		g.Plies[ply].KLD, g.Plies[ply].Visits = p.kld, p.visits
	}
	w := NewWindow(1000)
	w.Add(testGame(2, 11))
	w.Add(g)
	v := w.View()
	for k, want := range []stage.RowStats{{QDiff: 1, KLD: .5, Visits: 800}, {QDiff: .75, Visits: 1}, {KLD: 2}, {Visits: 33}, {KLD: 3, Visits: 1 << 31}} {
		if got := v.Stats(1, k); got != want {
			t.Errorf("row %d: %+v, want %+v", k, got, want)
		}
	}
	if first, second := v.Game(0), v.Game(1); first.Plies != 11 || second.Plies != 10 || second.NumRows != 5 || second.ID != g.ID || second.Ordinal != g.Ordinal {
		t.Errorf("games %+v, %+v", first, second)
	}
}

// A sampler that followed a window as it slid, and then begins anew, draws the
// same rows as a new one does from a window that only ever held its last games.
func TestSamplersOfEqualGames(t *testing.T) {
	const plies, held, games = 14, 25, 60
	for _, d := range sample.Definitions() {
		sampler := func() stage.Sampler {
			s, err := d.MakeSampler(nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		slid, direct := NewWindow(held*testRows(plies)), NewWindow(1<<20)
		used := sampler()
		src := NewSource(slid, used, 1, 1)
		for i, g := range testGames(0, games, plies) {
			slid.Add(g)
			draw(t, src, 1)
			if i >= games-held {
				direct.Add(g)
			}
		}
		if slid.Games() != held || direct.Games() != held {
			t.Fatalf("%d and %d games", slid.Games(), direct.Games())
		}
		want := draw(t, NewSource(slid, used, 8, 2), 10)
		if got := draw(t, NewSource(direct, sampler(), 8, 2), 10); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: other rows", d.Name)
		}
	}
}
