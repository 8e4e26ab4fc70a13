package sample

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// weights returns the weights that a sampler draws the rows of an index by.
func weights(t testing.TB, c *chain, idx stage.Index) (all []uint64) {
	t.Helper()
	c.follow(t, idx)
	var table *table
	switch s := c.inside().(type) {
	case *equal:
		table = &s.table
	case *prioritized:
		table = &s.table
	}
	for i := range idx.NumGames() {
		for k := range idx.Game(i).NumRows {
			all = append(all, table.weightAt(i, k))
		}
	}
	return all
}

// A game of 10 plies with rows at 0, 1, 3, 4, 8 and 9, of weights 1 to 6, and one
// whose last two positions are none.
func TestPositionSelector(t *testing.T) {
	l := &testGames{}
	for seq, plies := range [][]int32{{0, 1, 3, 4, 8, 9}, {0, 2, 4}} {
		g := testGame{info: stage.GameInfo{Seq: uint64(seq), Plies: 10}}
		for k, ply := range plies {
			g.rows = append(g.rows, stage.RowInfo{Ply: ply, Weight: uint64(k + 1)})
		}
		g.stats = make([]stage.RowStats, len(plies))
		l.add(g)
	}
	for _, c := range []struct {
		settings map[string]string
		want     []uint64
	}{
		{nil, []uint64{1, 2, 3, 4, 5, 6, 1, 2, 3}},
		{map[string]string{"positions": "all"}, []uint64{1, 2, 3, 4, 5, 6, 1, 2, 3}},
		{map[string]string{"positions": "final"}, []uint64{0, 0, 0, 0, 0, 6, 0, 0, 0}},
		{map[string]string{"positions": "penultimate"}, []uint64{0, 0, 0, 0, 5, 0, 0, 0, 0}},
		{map[string]string{"positions": "every", "every": "4"}, []uint64{1, 0, 0, 4, 5, 0, 1, 0, 3}},
		{map[string]string{"positions": "every", "every": "3", "offset": "1"}, []uint64{0, 2, 0, 4, 0, 0, 0, 0, 3}},
		{map[string]string{"positions": "every", "offset": "5"}, []uint64{0, 0, 0, 0, 5, 6, 0, 0, 0}},
	} {
		s := subject{"position-selector", c.settings}.sampler(t, 1)
		if got := weights(t, s, l.window(0, 2)); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.settings, got, c.want)
		}
	}
}

// Where no game has such a position the error says so.
func TestEmptySelection(t *testing.T) {
	for _, c := range []struct{ positions, want string }{
		{"final", "no rows to sample from: none of the window's 1 games has a row for training that is its final position"},
		{"every", "no rows to sample from: none of the window's 1 games has a row for training that is at ply 9 or a multiple of 2 after it"},
	} {
		settings := map[string]string{"positions": c.positions}
		if c.positions == "every" {
			settings["every"], settings["offset"] = "2", "9"
		}
		w := plain(3, make([]stage.RowStats, 4)...)
		w.games[0].info.Plies = 5
		_, err := subject{"position-selector", settings}.sampler(t, 1).next(w, 1, nil)
		if fmt.Sprint(err) != c.want {
			t.Errorf("%s: %v, want %s", c.positions, err, c.want)
		}
	}
}

// The diff-focus weight by hand: (6*.25 + .75) / (6 + 1.5) = .3; .3*2 + .05 = .65
// and its root .8062257748; capped at tau; 0.05^.5 of what is not known. In
// 1/2^28.
func TestDiffFocusWeights(t *testing.T) {
	s := subject{"diff-focus", map[string]string{"q_weight": "6", "pol_scale": "1.5", "alpha": "2", "beta": "0.05", "gamma": "0.5"}}.sampler(t, 1)
	w := plain(3, stage.RowStats{QDiff: .25, KLD: .75}, stage.RowStats{KLD: 50}, stage.RowStats{})
	w.games[0].rows[2].Weight = stage.WeightUnit / 2
	got := weights(t, s, w)
	for k, want := range []float64{.8062257748298549, 1, .22360679774997896 / 2} {
		if d := float64(got[k]) - want*(1<<28); math.Abs(d) > 1 {
			t.Errorf("row %d weighs %d, want %.1f", k, got[k], want*(1<<28))
		}
	}
	one := subject{"diff-focus", nil}.sampler(t, 1)
	if weights(t, one, plain(3, stage.RowStats{QDiff: 1, KLD: 3.5}))[0] != 1<<28 {
		t.Error("with the defaults QDiff 1 and KLD 3.5 make 1 + 0.5, capped at 1")
	}
}

// Priorities by hand, (epsilon + kld)^alpha with 0.25 and 0.5: 1, 0.5, 2, 1.5.
// P/U is in proportion to them, so that the weights in the loss are
// (0.5/p)^beta, the largest 1.
func TestPrioritizedWeights(t *testing.T) {
	w := plain(3, stage.RowStats{KLD: .75, QDiff: 9}, stage.RowStats{}, stage.RowStats{KLD: 3.75}, stage.RowStats{KLD: 2})
	w.games[0].rows[0].Weight = 3 * stage.WeightUnit // P and U alike have it: no change of the loss weight
	priorities := []float64{1, .5, 2, 1.5}
	for _, beta := range []float64{0, .5, 1} {
		s := subject{"prioritized", map[string]string{"epsilon": "0.25", "alpha": "0.5", "beta": fmt.Sprint(beta), "beta_rows": "0"}}.sampler(t, 1)
		got := weights(t, s, w)
		for k, p := range priorities {
			if want := p * float64(w.games[0].rows[k].Weight) * (1 << 12); math.Abs(float64(got[k])-want) > 1 {
				t.Errorf("row %d weighs %d, want %.1f", k, got[k], want)
			}
		}
		for _, ref := range drawn(t, s, w, 200) { // row 1 has 1/14 of the weight: it comes but once in 2.7 million times
			if want := math.Pow(.5/priorities[ref.Ply], beta); math.Abs(float64(ref.Weight)-want) > 1e-6 {
				t.Errorf("beta %v: row %d counts %v, want %v", beta, ref.Ply, ref.Weight, want)
			}
		}
	}
	byQ := subject{"prioritized", map[string]string{"by": "q_diff", "alpha": "1", "epsilon": "1"}}.sampler(t, 1)
	if got := weights(t, byQ, w); got[0] != 3*10<<28 || got[1] != 1<<28 {
		t.Errorf("by q_diff: %d, want 30 and 1 times 2^28", got)
	}
}

// Beta rises in a straight line with the rows drawn, and stays at 1.
func TestPrioritizedBeta(t *testing.T) {
	s := subject{"prioritized", map[string]string{"beta": "0.4", "beta_rows": "100"}}.sampler(t, 1)
	w := plain(3, stage.RowStats{}, stage.RowStats{KLD: 1})
	for _, want := range []float64{.4, .55, .7, .85, 1, 1, 1} {
		if got := s.inside().(*prioritized).betaNow(); math.Abs(got-want) > 1e-12 {
			t.Errorf("after %d rows: %v, want %v", s.inside().(*prioritized).rows, got, want)
		}
		drawn(t, s, w, 25)
	}
}

// meanKLD returns the mean of the rows' KLD over draws, weighted as they count
// in the loss, and its standard error.
func meanKLD(w *testWindow, refs []stage.RowRef) (mean, stderr float64) {
	kld := func(ref stage.RowRef) float64 {
		i, _ := w.Find(ref.Game)
		g := &w.games[w.lo+i]
		k := slices.IndexFunc(g.rows, func(r stage.RowInfo) bool { return r.Ply == ref.Ply })
		return float64(g.stats[k].KLD)
	}
	sum, norm := 0.0, 0.0
	for _, ref := range refs {
		sum, norm = sum+kld(ref)*float64(ref.Weight), norm+float64(ref.Weight)
	}
	mean = sum / norm
	squares := 0.0
	for _, ref := range refs {
		d := (kld(ref) - mean) * float64(ref.Weight)
		squares += d * d
	}
	return mean, math.Sqrt(squares) / norm
}

// With beta 1 what a batch expects is what the uniform sampler expects, up to
// its scale: here the mean of the very number that rows are drawn by. Within five
// standard errors (p = 6e-7); without the weights it is far off.
func TestPrioritizedIsUnbiased(t *testing.T) {
	rng := fresh(t)
	w := randomGames(rng, 40, 20).window(0, 40)
	want := 0.0
	for i := range w.NumGames() {
		for k, row := range w.games[i].rows {
			want += float64(w.games[i].stats[k].KLD) * float64(row.Weight) / float64(w.WeightSum())
		}
	}
	for _, beta := range []string{"1", "0"} {
		s := subject{"prioritized", map[string]string{"beta": beta, "beta_rows": "0", "epsilon": "0.3", "alpha": "1"}}.sampler(t, rng.Uint64())
		mean, stderr := meanKLD(w, drawn(t, s, w, 100_000))
		if off := math.Abs(mean-want) > 5*stderr; off != (beta == "0") {
			t.Errorf("beta %s: weighted mean %.4f with a standard error of %.4f, want %.4f", beta, mean, stderr, want)
		}
	}
}

// Rounded, at least 1, at most 2^62, in 1/4096 of the row's own unit.
func TestScaled(t *testing.T) {
	for _, c := range []struct {
		weight uint64
		factor float64
		want   uint64
	}{
		{stage.WeightUnit, 1, 1 << 28}, {stage.WeightUnit, .25, 1 << 26}, {1, 1.6 / 4096, 2}, {1, 1.4 / 4096, 1}, {3, 0, 1}, {1 << 40, 1e9, 1 << 62},
		{1, math.Inf(1), 1 << 62}, {3, 1, 3 << 12},
	} {
		if got := scaled(c.weight, c.factor); got != c.want {
			t.Errorf("%d times %v: %d, want %d", c.weight, c.factor, got, c.want)
		}
	}
}
