package rating

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// rng returns random numbers with a fresh seed, which is printed.
func rng(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// fit fits results that must not fail.
func fit(t *testing.T, results []Result, anchors map[string]float64) *List {
	t.Helper()
	l, err := Fit(results, anchors)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// of returns a rating that must be there.
func of(t *testing.T, l *List, name string) Rating {
	t.Helper()
	for _, r := range l.Ratings {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no rating of %s", name)
	return Rating{}
}

// difference returns how much stronger a is than b, and its standard error: those of
// a where b is held.
func difference(t *testing.T, results []Result, a, b string) (elo, err float64) {
	t.Helper()
	r := of(t, fit(t, results, map[string]float64{b: 0}), a)
	return r.Elo, r.Error
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestTwoPlayers holds figures of two players that follow by hand.
func TestTwoPlayers(t *testing.T) {
	for _, c := range []struct {
		wins, draws, losses int
		elo, err            float64
		prior               bool
	}{
		{30, 40, 10, 88.74, 27.785, false}, // x = 5/8; variance 15/64 - 40/82/4 a game
		{50, 0, 50, 0, 34.74, false},       // 400/ln 10 * 2/sqrt(100)
		{0, 10, 0, 0, 44.85, false},        // variance 1/4 - 10/12/4
		{40, 0, 0, 763.39, 247.19, true},   // 40.5 of 41 points with a virtual draw: odds of 81
		{0, 0, 40, -763.39, 247.19, true},
	} {
		results := []Result{{"a", "b", c.wins, c.draws, c.losses}}
		l := fit(t, results, nil)
		elo, err := difference(t, results, "a", "b")
		near(t, "Elo", elo, c.elo, 0.005)
		near(t, "error", err, c.err, 0.005)
		a, b := of(t, l, "a"), of(t, l, "b")
		near(t, "sum", a.Elo+b.Elo, 0, 1e-8)
		near(t, "error against the mean", a.Error, c.err/2, 0.005)
		games := c.wins + c.draws + c.losses
		if a.Games != games || a.Draws != c.draws || a.Points != float64(c.wins)+float64(c.draws)/2 || b.Points != float64(games)-a.Points {
			t.Errorf("counts of %+v and %+v", a, b)
		}
		if a.Prior == b.Prior == c.prior || l.Groups != 1 { // one of two is marked, or none
			t.Errorf("marks of %+v and %+v", a, b)
		}
	}
}

// TestAnchors: an anchor stays where it is and has no error; a chain of matches
// adds up.
func TestAnchors(t *testing.T) {
	results := []Result{{"b", "a", 30, 40, 10}, {"b", "c", 10, 40, 30}}
	l := fit(t, results, map[string]float64{"a": 1000, "nobody": 5})
	near(t, "b", of(t, l, "b").Elo, 1088.74, 0.005)
	near(t, "c", of(t, l, "c").Elo, 1177.48, 0.01)
	near(t, "error of b", of(t, l, "b").Error, 27.785, 0.005)
	near(t, "error of c", of(t, l, "c").Error, 27.785*math.Sqrt2, 0.01)
	if a := of(t, l, "a"); a.Elo != 1000 || a.Error != 0 || !a.Anchor {
		t.Errorf("the anchor: %+v", a)
	}
	if len(l.Ratings) != 3 || l.Ratings[0].Name != "c" || l.Ratings[2].Name != "a" {
		t.Errorf("the list: %+v", l.Ratings)
	}
	both := fit(t, results, map[string]float64{"a": 0, "c": 177.47904}) // where they are anyway
	near(t, "b between two anchors", of(t, both, "b").Elo, 88.73952, 1e-4)
	near(t, "its error", of(t, both, "b").Error, 27.785/math.Sqrt2, 0.005)
}

// TestGroups: what no game connects is not compared, unless anchors hold both.
func TestGroups(t *testing.T) {
	results := []Result{{"c", "d", 1, 2, 1}, {"a", "b", 30, 40, 10}, {"x", "y", 0, 0, 0}}
	l := fit(t, results, nil)
	if l.Groups != 2 || of(t, l, "a").Group != 0 || of(t, l, "d").Group != 1 || len(l.Ratings) != 4 {
		t.Errorf("two groups: %+v", l)
	}
	l = fit(t, results, map[string]float64{"b": 100, "d": 300})
	if elo := of(t, l, "c").Elo - of(t, l, "b").Elo; l.Groups != 1 || math.Abs(elo-200) > 1e-6 {
		t.Errorf("with two anchors c is %v above b in %d groups", elo, l.Groups)
	}
}

// TestReference compares with the iteration of Zermelo (1929), which only knows
// the equations of the maximum, and with the change of the answer when a
// pairing's points change (the delta method).
func TestReference(t *testing.T) {
	rng := rng(t)
	for range 20 {
		n := 3 + rng.IntN(8)
		var results []Result
		for a := range n {
			for b := range a {
				if b > 0 && b < a-1 && rng.IntN(2) == 0 {
					continue
				}
				results = append(results, Result{fmt.Sprint(a), fmt.Sprint(b), 1 + rng.IntN(30), rng.IntN(30), 1 + rng.IntN(30)})
			}
		}
		l := fit(t, results, nil)
		want := zermelo(results, n)
		for i, elo := range want {
			near(t, "Elo", of(t, l, fmt.Sprint(i)).Elo, elo, 1e-5)
		}
		deltaMethod(t, results)
	}
}

// zermelo returns the ratings of n players, mean 0.
func zermelo(results []Result, n int) []float64 {
	strength, points := make([]float64, n), make([]float64, n)
	games := square(n)
	for i := range strength {
		strength[i] = 1
	}
	for _, r := range results {
		var a, b int
		fmt.Sscan(r.A, &a)
		fmt.Sscan(r.B, &b)
		points[a] += float64(r.Wins) + float64(r.Draws)/2
		points[b] += float64(r.Losses) + float64(r.Draws)/2
		games[a][b] += float64(r.Wins + r.Draws + r.Losses)
		games[b][a] = games[a][b]
	}
	for range 20_000 {
		product := 0.0
		for i := range strength {
			sum := 0.0
			for k := range strength {
				sum += games[i][k] / (strength[i] + strength[k])
			}
			strength[i] = points[i] / sum
			product += math.Log(strength[i])
		}
		for i := range strength {
			strength[i] /= math.Exp(product / float64(n))
		}
	}
	mean := 0.0
	for i := range strength {
		strength[i] = 400 * math.Log10(strength[i])
		mean += strength[i] / float64(n)
	}
	for i := range strength {
		strength[i] -= mean
	}
	return strength
}

// deltaMethod holds the covariances against fits with a pairing's points changed.
func deltaMethod(t *testing.T, results []Result) {
	t.Helper()
	const change = 1e-3
	answer := func(pairing int) ([]float64, *graph) {
		g, err := newGraph(results, nil)
		if err != nil {
			t.Fatal(err)
		}
		if pairing >= 0 {
			g.pairings[pairing].points += change
		}
		elo, groups := make([]float64, len(g.names)), make([]int, len(g.names))
		if err := g.system(groups, 0, elo).climb(elo); err != nil {
			t.Fatal(err)
		}
		return elo, g
	}
	base, g := answer(-1)
	want := square(len(base))
	for k, p := range g.pairings {
		moved, _ := answer(k)
		x := 1 / (1 + math.Pow(10, (base[p.b]-base[p.a])/400))
		v := p.games * (x*(1-x) - min(p.draws/(p.games+2), 2*min(x, 1-x)*p.games/(p.games+2))/4)
		for i := range base {
			for j := range base {
				want[i][j] += v * (moved[i] - base[i]) * (moved[j] - base[j]) / (change * change)
			}
		}
	}
	for j, b := range g.names {
		held := fit(t, results, map[string]float64{b: 0})
		for i, a := range g.names {
			err := of(t, held, a).Error
			near(t, "error of "+a+" against "+b, err, math.Sqrt(max(0, want[i][i]+want[j][j]-2*want[i][j])), 1e-2)
		}
	}
}

// TestSymmetry: the order of results and of a pair's names does not matter, and
// ratings move with their anchor.
func TestSymmetry(t *testing.T) {
	rng := rng(t)
	var results []Result
	for a := range 8 {
		for b := range a {
			results = append(results, Result{fmt.Sprint(a), fmt.Sprint(b), rng.IntN(9), rng.IntN(9), rng.IntN(9)})
		}
	}
	want := fit(t, results, map[string]float64{"3": 0})
	for range 10 {
		other := append([]Result(nil), results...)
		rng.Shuffle(len(other), func(i, k int) { other[i], other[k] = other[k], other[i] })
		for i, r := range other {
			if rng.IntN(2) == 0 {
				other[i] = Result{r.B, r.A, r.Losses, r.Draws, r.Wins}
			}
		}
		if got := fit(t, other, map[string]float64{"3": 0}); !reflect.DeepEqual(got, want) {
			t.Fatalf("another order: %+v, want %+v", got, want)
		}
	}
	higher := fit(t, results, map[string]float64{"3": 500})
	for _, r := range want.Ratings {
		near(t, "with the anchor 500 higher", of(t, higher, r.Name).Elo, r.Elo+500, 1e-6)
	}
}

// TestPriorIsShared: a player that all others beat draws these neither together
// nor down, and only that player is marked.
func TestPriorIsShared(t *testing.T) {
	var chain []Result
	for i := range 19 {
		chain = append(chain, Result{fmt.Sprintf("net%02d", i+1), fmt.Sprintf("net%02d", i), 16, 14, 10})
	}
	alone, _ := difference(t, chain, "net19", "net00")
	for i := range 20 {
		chain = append(chain, Result{fmt.Sprintf("net%02d", i), "random", 40, 0, 0})
	}
	l := fit(t, chain, map[string]float64{"random": 0})
	beside := of(t, l, "net19").Elo - of(t, l, "net00").Elo
	near(t, "length of the chain", beside, alone, 10)
	if low := of(t, l, "net00"); low.Elo < 700 || low.Prior || !of(t, l, "random").Prior {
		t.Errorf("the first net is %+v", low)
	}
}

// TestErrorsHold: over simulated tournaments the squared distance of a difference
// from the truth is its variance.
func TestErrorsHold(t *testing.T) {
	rng := rng(t)
	truth := []float64{0, 60, 90, 200, 260}
	sum, count := 0.0, 0
	for range 300 {
		var results []Result
		for a := range truth {
			for b := range a {
				r := Result{A: fmt.Sprint(a), B: fmt.Sprint(b)}
				x := 1 / (1 + math.Pow(10, (truth[b]-truth[a])/400))
				draw := 0.5 * min(x, 1-x)
				for range 60 {
					switch u := rng.Float64(); {
					case u < draw:
						r.Draws++
					case u < x+draw/2:
						r.Wins++
					default:
						r.Losses++
					}
				}
				results = append(results, r)
			}
		}
		for a := 1; a < len(truth); a++ {
			elo, err := difference(t, results, fmt.Sprint(a), "0")
			z := (elo - truth[a]) / err
			sum += z * z
			count++
		}
	}
	// 300 tournaments of 4 dependent figures: the mean strays by 0.1 at most.
	near(t, "mean of z squared", sum/float64(count), 1, 0.4)
}

// TestRefused names what is wrong.
func TestRefused(t *testing.T) {
	for want, c := range map[string]struct {
		r       Result
		anchors map[string]float64
	}{
		`"a" against "a"`:   {Result{"a", "a", 1, 0, 0}, nil},
		`"" against "b"`:    {Result{"", "b", 1, 0, 0}, nil},
		"+-1 =0 -5":         {Result{"a", "b", -1, 0, 5}, nil},
		"anchor a at NaN":   {Result{"a", "b", 1, 0, 0}, map[string]float64{"a": math.NaN()}},
		"anchor a at 20000": {Result{"a", "b", 1, 0, 0}, map[string]float64{"a": 20000}},
	} {
		if _, err := Fit([]Result{c.r}, c.anchors); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if l := fit(t, nil, nil); len(l.Ratings) != 0 || l.Groups != 0 {
		t.Errorf("no results: %+v", l)
	}
}

// TestExtremes: results as lopsided as can be, in any graph, have an answer.
func TestExtremes(t *testing.T) {
	rng := rng(t)
	for range 200 {
		n := 2 + rng.IntN(10)
		var results []Result
		for range n + rng.IntN(2*n) {
			a, b := rng.IntN(n), rng.IntN(n)
			if a == b {
				continue
			}
			games := 1 << rng.IntN(20)
			results = append(results, [...]Result{{fmt.Sprint(a), fmt.Sprint(b), games, 0, 0}, {fmt.Sprint(a), fmt.Sprint(b), 0, games, 0},
				{fmt.Sprint(a), fmt.Sprint(b), games, 1, 0}}[rng.IntN(3)])
		}
		anchors := map[string]float64{}
		for range rng.IntN(3) {
			anchors[fmt.Sprint(rng.IntN(n))] = float64(rng.IntN(10_000) - 5000)
		}
		for _, r := range fit(t, results, anchors).Ratings {
			if math.IsNaN(r.Elo) || math.IsInf(r.Elo, 0) || math.IsNaN(r.Error) || r.Error == 0 != r.Anchor {
				t.Errorf("%+v of %v with %v", r, results, anchors)
			}
		}
	}
}

// BenchmarkFit is a run of 300 nets, each of which played the two before it, the
// first one and a player that all beat.
func BenchmarkFit(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var results []Result
	for i := range 300 {
		results = append(results, Result{fmt.Sprint(i), "random", 40, 0, 0})
		for _, k := range []int{i - 1, i - 2, 0} {
			if k >= 0 && k != i {
				results = append(results, Result{fmt.Sprint(i), fmt.Sprint(k), rng.IntN(20), rng.IntN(20), rng.IntN(15)})
			}
		}
	}
	for b.Loop() {
		if _, err := Fit(results, map[string]float64{"random": 0}); err != nil {
			b.Fatal(err)
		}
	}
}

// square returns an n times n matrix of zeros.
func square(n int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
	}
	return rows
}
