package sample

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// chiSquare returns the statistic of counts against what shares, which need not
// add up to 1, let expect, and its degrees of freedom. Cells that expect less
// than 10 are put together, smallest first. Infinite if a cell without a share
// has a count.
func chiSquare(counts []int, shares []float64) (x float64, freedom int) {
	total, sum := 0.0, 0.0
	order := make([]int, len(counts))
	for i, n := range counts {
		if shares[i] == 0 && n > 0 {
			return math.Inf(1), 1
		}
		total, sum, order[i] = total+float64(n), sum+shares[i], i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(shares[a], shares[b]) })
	have, want := 0.0, 0.0
	freedom = -1
	for _, i := range order {
		have, want = have+float64(counts[i]), want+total*shares[i]/sum
		if want >= 10 {
			x += (have - want) * (have - want) / want
			have, want = 0, 0
			freedom++
		}
	}
	return x, freedom
}

// chiLimit is the value that chi-square with k degrees of freedom stays below
// with probability 1 - 1e-6 (Wilson and Hilferty 1931; 4.753 = the normal
// quantile).
func chiLimit(k int) float64 {
	d := 2 / (9 * float64(k))
	return float64(k) * math.Pow(1-d+4.753*math.Sqrt(d), 3)
}

// The exact probabilities of rows but for their sum, from the definitions.
var shares = map[string]func(g *stage.GameInfo, r stage.RowInfo, s stage.RowStats) float64{
	"uniform": func(_ *stage.GameInfo, r stage.RowInfo, _ stage.RowStats) float64 { return float64(r.Weight) },
	"position-selector map[every:3 offset:1 positions:every]": func(_ *stage.GameInfo, r stage.RowInfo, _ stage.RowStats) float64 {
		if r.Ply%3 == 1 {
			return float64(r.Weight)
		}
		return 0
	},
	"position-selector map[positions:final]": func(g *stage.GameInfo, r stage.RowInfo, _ stage.RowStats) float64 {
		if int(r.Ply) == g.Plies-1 {
			return float64(r.Weight)
		}
		return 0
	},
	"position-selector map[positions:penultimate]": func(g *stage.GameInfo, r stage.RowInfo, _ stage.RowStats) float64 {
		if int(r.Ply) == g.Plies-2 {
			return float64(r.Weight)
		}
		return 0
	},
	"position-selector": func(_ *stage.GameInfo, r stage.RowInfo, _ stage.RowStats) float64 { return float64(r.Weight) },
	"diff-focus": func(_ *stage.GameInfo, r stage.RowInfo, s stage.RowStats) float64 {
		return float64(r.Weight) * min((6*float64(s.QDiff)+float64(s.KLD))/9.5+0.5, 1)
	},
	"diff-focus map[gamma:1.7 tau:9]": func(_ *stage.GameInfo, r stage.RowInfo, s stage.RowStats) float64 {
		return float64(r.Weight) * min(math.Pow((6*float64(s.QDiff)+float64(s.KLD))/9.5+0.5, 1.7), 9)
	},
	"prioritized map[beta_rows:300]": func(_ *stage.GameInfo, r stage.RowInfo, s stage.RowStats) float64 {
		return float64(r.Weight) * math.Pow(float64(s.KLD)+0.01, 0.6)
	},
	"prioritized map[alpha:1 by:q_diff]": func(_ *stage.GameInfo, r stage.RowInfo, s stage.RowStats) float64 {
		return float64(r.Weight) * (float64(s.QDiff) + 0.01)
	},
}

// Rows come with exactly the probabilities of the definitions, in a window that
// slid: chi-square of 300 000 draws, with a confidence of 1 - 1e-6 a sampler. The
// control: the same draws do not look as if all rows were alike.
func TestDistribution(t *testing.T) {
	rng := fresh(t)
	l := randomGames(rng, 90, 25)
	for _, subject := range subjects {
		share := shares[subject.String()]
		if subject.settings == nil {
			share = shares[subject.name]
		}
		if subject.name == "hanse" {
			continue // TestHanseGames, TestHanseTurns
		}
		s := subject.sampler(t, rng.Uint64())
		drawn(t, s, l.window(0, 40), 10)
		drawn(t, s, l.window(20, 60), 10)
		w := l.window(40, 90)
		cells := map[stage.RowRef]int{}
		var want, alike []float64
		for i := range w.NumGames() {
			g := w.Game(i)
			for k := range g.NumRows {
				row := w.Row(i, k)
				cells[stage.RowRef{Game: g.Seq, Ply: row.Ply}] = len(want)
				want, alike = append(want, share(&g, row, w.Stats(i, k))), append(alike, 1)
			}
		}
		counts := make([]int, len(want))
		for range 300 {
			for _, ref := range drawn(t, s, w, 1000) {
				ref.Weight = 0
				counts[cells[ref]]++
			}
		}
		if x, freedom := chiSquare(counts, want); x > chiLimit(freedom) {
			t.Errorf("%v: chi-square %.1f with %d degrees of freedom, at most %.1f", subject, x, freedom, chiLimit(freedom))
		}
		if x, freedom := chiSquare(counts, alike); x < chiLimit(freedom) {
			t.Errorf("%v: the test is blind: chi-square against rows that are alike is %.1f", subject, x)
		}
	}
}

// Games come in proportion to min(weight, threshold)^gamma: chi-square of
// 200 000 draws, with a confidence of 1 - 1e-6.
func TestHanseGames(t *testing.T) {
	rng := fresh(t)
	l := randomGames(rng, 90, 25)
	for _, c := range []struct {
		settings map[string]string
		share    func(g *stage.GameInfo) float64
	}{
		{nil, func(g *stage.GameInfo) float64 { return float64(g.NumRows) }},
		{map[string]string{"gamma": "0"}, func(*stage.GameInfo) float64 { return 1 }},
		{map[string]string{"gamma": "2.5", "threshold": "12"}, func(g *stage.GameInfo) float64 { return math.Pow(min(float64(g.NumRows), 12), 2.5) }},
		{map[string]string{"by": "weights", "gamma": "0.5"}, func(g *stage.GameInfo) float64 { return math.Sqrt(float64(g.Weight)) }},
		{map[string]string{"threshold": "100000"}, func(g *stage.GameInfo) float64 { return float64(g.NumRows) }}, // above any game: no limit
	} {
		s := subject{"hanse", c.settings}.sampler(t, rng.Uint64())
		drawn(t, s, l.window(0, 50), 10)
		w := l.window(40, 90)
		var want, other []float64
		for i := range w.NumGames() {
			g := w.Game(i)
			want, other = append(want, c.share(&g)), append(other, 1/float64(1+g.NumRows))
		}
		counts := make([]int, w.NumGames())
		for _, ref := range drawn(t, s, w, 200_000) {
			i, _ := w.Find(ref.Game)
			counts[i]++
		}
		if x, freedom := chiSquare(counts, want); x > chiLimit(freedom) {
			t.Errorf("%v: chi-square %.1f with %d degrees of freedom, at most %.1f", c.settings, x, freedom, chiLimit(freedom))
		}
		if x, freedom := chiSquare(counts, other); x < chiLimit(freedom) {
			t.Errorf("%v: the test is blind: chi-square against short games first is %.1f", c.settings, x)
		}
	}
}
