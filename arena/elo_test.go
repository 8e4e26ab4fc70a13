package arena

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// near fails unless got is within tolerance of want; infinities must be equal.
func near(t *testing.T, what string, got Figure, want, tolerance float64) {
	t.Helper()
	if g := float64(got); g != want && !(math.Abs(g-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestEloPublished holds figures that fastchess's tests publish: Elo, half its
// interval, and LOS in percent, all to two digits.
func TestEloPublished(t *testing.T) {
	for _, c := range []struct {
		p               Pentanomial
		elo, error, los float64
	}{
		{Pentanomial{34, 54, 31 + 32, 64, 75}, 55.58, 27.65, 100.00},
		{Pentanomial{332, 433, 457 + 41, 333, 334}, -8.64, 10.33, 5.05},
	} {
		e := EstimateElo(c.p)
		near(t, "Elo", e.Elo, c.elo, 0.005)
		near(t, "half the interval", (e.High-e.Low)/2, c.error, 0.005)
		near(t, "LOS", 100*e.LOS, c.los, 0.005)
	}
}

// TestEloOfScore holds the table of the logistic curve.
func TestEloOfScore(t *testing.T) {
	for _, c := range []struct{ score, elo float64 }{
		{0.5, 0}, {0.64, 99.95}, {0.75, 190.85}, {0.25, -190.85}, {0.9, 381.70}, {1, math.Inf(1)}, {0, math.Inf(-1)}, {-0.1, math.Inf(-1)},
	} {
		near(t, "Elo", Figure(elo(c.score)), c.elo, 0.005)
	}
}

// TestEloReference compares with the textbook formulas over the list of all
// pairs, on random counts.
func TestEloReference(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		var p Pentanomial
		var scores []float64
		for k := range p {
			p[k] = 1 + rng.IntN(50)
			for range p[k] {
				scores = append(scores, float64(k)/4)
			}
		}
		n := float64(len(scores))
		sum, squares := 0.0, 0.0
		for _, x := range scores {
			sum += x
			squares += x * x
		}
		mean := sum / n
		deviation := math.Sqrt((squares/n - mean*mean) / n)
		logistic := func(x float64) float64 { return -400 * math.Log10(1/x-1) }
		e := EstimateElo(p)
		// Only the order of additions and the form of the logarithm differ.
		near(t, "score", e.Score, mean, 1e-12)
		near(t, "Elo", e.Elo, logistic(mean), 1e-6)
		near(t, "low", e.Low, logistic(mean-1.959963984540054*deviation), 1e-6)
		near(t, "high", e.High, logistic(mean+1.959963984540054*deviation), 1e-6)
		near(t, "LOS", e.LOS, math.Erfc(-(mean-0.5)/deviation/math.Sqrt2)/2, 1e-9)
		mirrored := EstimateElo(Pentanomial{p[4], p[3], p[2], p[1], p[0]})
		near(t, "mirrored Elo", mirrored.Elo, -float64(e.Elo), 1e-9)
		near(t, "mirrored low", mirrored.Low, -float64(e.High), 1e-9)
		near(t, "mirrored LOS", mirrored.LOS, 1-float64(e.LOS), 1e-12)
	}
}

// TestEloAlike holds what is said of pairs without variance, and of none.
func TestEloAlike(t *testing.T) {
	won := EstimateElo(Pentanomial{4: 100})
	near(t, "Elo", won.Elo, math.Inf(1), 0)
	near(t, "low", won.Low, 570.03, 0.005) // 0.025^(1/100) = 0.96378
	near(t, "high", won.High, math.Inf(1), 0)
	near(t, "LOS of a won pair", EstimateElo(Pentanomial{4: 1}).LOS, 0.75, 0)
	near(t, "LOS of two lost pairs", EstimateElo(Pentanomial{0: 2}).LOS, 0.125, 0)
	even := EstimateElo(Pentanomial{2: 50})
	near(t, "Elo", even.Elo, 0, 0)
	near(t, "LOS", even.LOS, 0.5, 0)
	if !(even.Low < 0 && even.Low > -50 && math.Abs(float64(even.High+even.Low)) < 1e-9) {
		t.Errorf("50 even pairs: %v to %v", even.Low, even.High)
	}
	none := EstimateElo(Pentanomial{})
	text, err := json.Marshal(none)
	if want := `{"pairs":0,"score":null,"elo":null,"elo_low":null,"elo_high":null,"los":0.5}`; err != nil || string(text) != want {
		t.Errorf("no pairs: %s %v, want %s", text, err, want)
	}
}

// TestEloCoverage draws matches of known strength: the interval holds the truth
// about as often as it says.
func TestEloCoverage(t *testing.T) {
	const matches, pairs = 4000, 200
	cumulative := [4]float64{0.1, 0.3, 0.65, 0.85}      // of 0, 1/2, 1, 3/2 points
	truth := elo((0.2*1 + 0.35*2 + 0.2*3 + 0.15*4) / 4) // 0.525
	const seed = 5                                      // fixed: 4000 draws of 95 % have a deviation of 0.34 %
	rng, held := rand.New(rand.NewPCG(seed, 2)), 0
	for range matches {
		var p Pentanomial
		for range pairs {
			x, k := rng.Float64(), 0
			for k < 4 && x >= cumulative[k] {
				k++
			}
			p[k]++
		}
		if e := EstimateElo(p); float64(e.Low) <= truth && truth <= float64(e.High) {
			held++
		}
	}
	if share := float64(held) / matches; share < 0.935 || share > 0.965 {
		t.Errorf("the 95 %% interval holds the truth in %.1f %%", 100*share)
	}
}

// A match that ends between the games of a pair has the Elo of the score that stands
// beside it: 5 of 8 points are +89.
func TestEstimateOfUnfinishedPairs(t *testing.T) {
	pairs := Pentanomial{0, 0, 0, 1, 1} // 3.5 of 4
	whole := EstimateElo(pairs)
	e := whole.Of(Count{Wins: 5, Losses: 3})
	if math.Abs(float64(e.Elo)-88.74) > 0.01 || e.Score != 0.625 || math.Abs(float64(e.Error()-whole.Error())) > 1e-9 || e.Low >= e.Elo || e.High <= e.Elo {
		t.Errorf("%+v", e)
	}
	if e := whole.Of(Count{Wins: 3, Draws: 1}); e != whole {
		t.Errorf("whole pairs: %+v, want %+v", e, whole)
	}
	one := EstimateElo(Pentanomial{0, 0, 0, 0, 1}).Of(Count{Wins: 2, Losses: 1}) // its pairs know no Elo
	if math.Abs(float64(one.Elo)-120.41) > 0.01 || !math.IsInf(float64(one.High), 1) {
		t.Errorf("%+v", one)
	}
}
