package arena

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSPRTPublished: log likelihood ratios that fishtest published for tests of
// Stockfish in 2020, when its hypotheses were in logistic Elo. They are rounded
// to two digits.
func TestSPRTPublished(t *testing.T) {
	for _, c := range []struct {
		pairs      Pentanomial
		elo0, elo1 float64
		llr        float64
	}{
		{Pentanomial{17, 253, 1042, 337, 39}, -0.5, 1.5, 2.96},        // Stockfish pull request 2971
		{Pentanomial{11, 407, 3238, 513, 11}, 0.25, 1.75, 2.93},       // the same
		{Pentanomial{59, 754, 2467, 865, 75}, -0.5, 1.5, 2.95},        // 2951
		{Pentanomial{33, 1185, 8378, 1302, 50}, 0.25, 1.75, 2.95},     // the same
		{Pentanomial{133, 1751, 5094, 1849, 165}, -0.5, 1.5, 2.94},    // 2950
		{Pentanomial{253, 4282, 17604, 4431, 286}, -0.25, 1.25, 2.94}, // 3209
		{Pentanomial{424, 2948, 5832, 3045, 460}, -1, 3, 2.94},        // 2493
		{Pentanomial{1284, 17437, 55536, 18085, 1292}, 0, 2, 2.94},    // the same
		{Pentanomial{293, 5085, 20082, 5070, 326}, -1.25, 0.25, 2.95}, // 3103
		{Pentanomial{47, 2568, 23495, 2604, 58}, -0.75, 0.25, 2.94},   // the same
	} {
		s := SPRT{c.elo0, c.elo1, 0.05, 0.05}
		r := s.Test(c.pairs)
		if math.Abs(r.LLR-c.llr) > 0.0051 {
			t.Errorf("%v, %v against %v: LLR %v, fishtest said %v", c.pairs, c.elo0, c.elo1, r.LLR, c.llr)
		}
		if math.Abs(r.Lower+2.9444) > 1e-4 || math.Abs(r.Upper-2.9444) > 1e-4 {
			t.Errorf("bounds %v and %v, fishtest says -2.94 and 2.94", r.Lower, r.Upper)
		}
		if want := map[bool]string{true: AcceptH1}[r.LLR >= r.Upper]; r.Decision != want {
			t.Errorf("LLR %v: decision %q, want %q", r.LLR, r.Decision, want)
		}
	}
}

// TestSPRTOfWinsAndLosses: without drawn or mixed pairs the generalised test is
// Wald's of a coin.
func TestSPRTOfWinsAndLosses(t *testing.T) {
	s := SPRT{-20, 30, 0.01, 0.1}
	p := Pentanomial{0: 40, 4: 60}
	s0, s1 := 1/(1+math.Pow(10, 20.0/400)), 1/(1+math.Pow(10, -30.0/400))
	want := 60*math.Log(s1/s0) + 40*math.Log((1-s1)/(1-s0))
	r := s.Test(p)
	if math.Abs(r.LLR-want) > 1e-3 { // emptyCount in three scores
		t.Errorf("LLR %v, Wald's is %v", r.LLR, want)
	}
	if math.Abs(r.Upper-math.Log(90)) > 1e-12 || math.Abs(r.Lower-math.Log(0.1/0.99)) > 1e-12 || r.Pairs != 100 {
		t.Errorf("%+v", r)
	}
}

// TestSPRTMirror: the other player's test is the same with all signs turned, on
// random counts; and no count gives what is no number.
func TestSPRTMirror(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		var p, mirror Pentanomial
		for k := range p {
			if rng.IntN(3) > 0 {
				p[k] = rng.IntN(1 << rng.IntN(16))
			}
			mirror[4-k] = p[k]
		}
		s := SPRT{Elo0: 200 * (rng.Float64() - 0.5), Alpha: 0.03, Beta: 0.2}
		s.Elo1 = s.Elo0 + 1 + 100*rng.Float64()
		a, b := s.Test(p), SPRT{-s.Elo1, -s.Elo0, s.Beta, s.Alpha}.Test(mirror)
		if !(math.Abs(a.LLR+b.LLR) <= 1e-6*(1+math.Abs(a.LLR))) || math.Abs(a.Lower+b.Upper) > 1e-12 {
			t.Fatalf("%v, %+v: %+v, of the other player %+v", p, s, a, b)
		}
		other := map[string]string{AcceptH0: AcceptH1, AcceptH1: AcceptH0, "": ""}
		if other[a.Decision] != b.Decision {
			t.Fatalf("decisions %q and %q", a.Decision, b.Decision)
		}
	}
	if r := (SPRT{0, 10, 0.05, 0.05}).Test(Pentanomial{}); r.LLR != 0 || r.Decision != "" {
		t.Errorf("without games: %+v", r)
	}
}

// TestSPRTErrors plays matches in which one of the hypotheses is true: the test
// is wrong in about alpha and beta of them. The bounds are 5 deviations away.
func TestSPRTErrors(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	const matches = 300
	s := SPRT{0, 60, 0.05, 0.05}
	for elo, wrong := range map[float64]string{s.Elo0: AcceptH1, s.Elo1: AcceptH0} {
		errors := 0
		score := ExpectedScore(elo)
		draws := 0.3
		for range matches {
			r := SPRTResult{}
			for p := (Pentanomial{}); r.Decision == ""; r = s.Test(p) {
				points := 0
				for range 2 {
					switch u := rng.Float64(); {
					case u < score-draws/2:
						points += 2
					case u < score+draws/2:
						points++
					}
				}
				p[points]++
			}
			if r.Decision == wrong {
				errors++
			}
		}
		if mean := 0.05 * matches; float64(errors) > mean+5*math.Sqrt(mean) {
			t.Errorf("true difference %v Elo: %d of %d matches decided %s", elo, errors, matches, wrong)
		}
	}
}

// TestJudge: the decision of the pairs in their order, up to the first gap and
// no further than where the test decided.
func TestJudge(t *testing.T) {
	var games []Game
	for i := range 400 {
		g := Game{Number: i, White: i % 2, WhiteResult: 1 - 2*int8(i%2)} // player 1 wins all
		if i%10 == 0 {
			g.WhiteResult = 0
		}
		games = append(games, g)
	}
	s := SPRT{0, 50, 0.05, 0.05}
	all := s.Judge(games)
	if all.Decision != AcceptH1 || all.Pairs >= 200 {
		t.Fatalf("%+v", all)
	}
	at := 2 * all.Pairs
	if got := s.Judge(games[:at]); got != all {
		t.Errorf("the games up to the decision: %+v, want %+v", got, all)
	}
	if got := s.Judge(games[:at-1]); got.Decision != "" || got.Pairs != all.Pairs-1 {
		t.Errorf("one game less: %+v", got)
	}
	gap := append(append([]Game{}, games[:6]...), games[7:]...)
	if got := s.Judge(gap); got.Pairs != 3 || got.Decision != "" {
		t.Errorf("without game 6: %+v", got)
	}
	if got := s.Judge(nil); got.Pairs != 0 || got.Upper == 0 {
		t.Errorf("no games: %+v", got)
	}
}

// TestSPRTValidate holds what is refused.
func TestSPRTValidate(t *testing.T) {
	if err := (SPRT{0, 10, 0.05, 0.05}).Validate(); err != nil {
		t.Error(err)
	}
	for want, s := range map[string]SPRT{
		"want elo0 below elo1": {10, 10, 0.05, 0.05}, "elo1 2000": {0, 2000, 0.05, 0.05}, "elo0 NaN": {math.NaN(), 1, 0.05, 0.05},
		"alpha 0,": {0, 10, 0, 0.05}, "beta 0.5": {0, 10, 0.05, 0.5}, "beta NaN": {0, 10, 0.05, math.NaN()},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}
