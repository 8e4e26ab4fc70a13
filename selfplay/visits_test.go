package selfplay

import (
	"math"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

func TestPlayoutCap(t *testing.T) {
	games, _ := play(t, 40, func(c *WorkerConfig) {
		c.Game.Search.Simulations, c.Game.TreeReuse = 24, false
		c.Game.PlayoutCap = PlayoutCap{FullProbability: 0.25, CheapSimulations: 5}
	})
	full, all := 0, 0
	for _, g := range games {
		for i := range g.Plies {
			p := &g.Plies[i]
			all++
			visits, weight := uint32(6), float32(0)
			if p.Flags&record.FullSearch != 0 {
				full++
				visits, weight = 25, 1
			}
			if p.Visits != visits || p.Weight != weight || p.Kind != record.PolicyCounts {
				t.Fatalf("game %d ply %d: %+v", g.Ordinal, i, p)
			}
		}
	}
	share, se := float64(full)/float64(all), math.Sqrt(0.25*0.75/float64(all))
	if math.Abs(share-0.25) > 4*se {
		t.Errorf("%d of %d searches were full, a quarter asked", full, all)
	}
}

// A cheap search has no noise: where every search is cheap the games do not
// depend on the noise's strength, where every one is full they do.
func TestCheapSearchesHaveNoNoise(t *testing.T) {
	with := func(epsilon, full float64) string {
		games, _ := play(t, 4, func(c *WorkerConfig) {
			c.Game.Search.NoiseEpsilon = epsilon
			c.Game.PlayoutCap = PlayoutCap{FullProbability: full, CheapSimulations: 6}
		})
		return digest(t, games)
	}
	if with(0.25, 0) != with(0.75, 0) {
		t.Error("cheap searches have noise")
	}
	if with(0.25, 1) == with(0.75, 1) {
		t.Error("full searches have no noise")
	}
}

func TestReducedVisits(t *testing.T) {
	games, _ := play(t, 4, func(c *WorkerConfig) {
		c.Nets = FixedNet{"lost", lost{}} // white's Q is about -1 from the first ply on
		c.Game.Search.Simulations, c.Game.TreeReuse = 30, false
		c.Game.ReducedVisits = ReducedVisits{Simulations: 10, Q: 0.9, Plies: 3, Weight: 0.1}
	})
	for _, g := range games {
		for i := range g.Plies {
			p, white := &g.Plies[i], 1.0
			if i%2 == 1 {
				white = -1
			}
			if i < 3 && float64(p.Root.Q)*white > -0.9 {
				t.Fatalf("ply %d: Q %v of a lost side", i, p.Root.Q)
			}
			decided := i >= 3
			for k := max(0, i-3); k < i; k++ {
				decided = decided && math.Abs(float64(g.Plies[k].Root.Q)) > 0.9
			}
			visits, weight := uint32(31), float32(1)
			if decided {
				visits, weight = 11, 0.1
			}
			if p.Visits != visits || p.Weight != weight {
				t.Fatalf("ply %d: %d visits, weight %v, want %d and %v", i, p.Visits, p.Weight, visits, weight)
			}
		}
	}
}

// The side ahead must be the same throughout.
func TestDecidedNeedsOneSide(t *testing.T) {
	g := newGame(&GameConfig{ReducedVisits: ReducedVisits{Simulations: 1, Q: 0.9, Plies: 3}}, nil)
	for _, tc := range []struct {
		q    []float32
		want bool
	}{
		{[]float32{0.95, -0.95, 0.95}, true}, {[]float32{-0.95, 0.95, -0.95}, true},
		{[]float32{0.95, 0.95, 0.95}, false}, {[]float32{0.95, -0.9, 0.95}, false},
		{[]float32{0, -0.95, 0.95, -0.95}, true}, {[]float32{-0.95, 0.95}, false},
	} {
		g.rec = &record.Game{}
		for _, q := range tc.q {
			p := record.Ply{Visits: 9}
			p.Root.Q = q
			g.rec.Plies = append(g.rec.Plies, p)
		}
		if got := g.decided(); got != tc.want {
			t.Errorf("%v: decided %v", tc.q, got)
		}
	}
}

func TestParseSchedule(t *testing.T) {
	steps, err := ParseSchedule("32@0, 100@200,400@1000")
	if err != nil {
		t.Fatal(err)
	}
	for age, want := range map[uint64]int{0: 32, 199: 32, 200: 100, 999: 100, 1000: 400, 1 << 60: 400} {
		if got := steps.At(age, 7); got != want {
			t.Errorf("age %d: %d, want %d", age, got, want)
		}
	}
	if steps, err := ParseSchedule(" "); err != nil || steps != nil || steps.At(7, 3) != 3 {
		t.Errorf("empty: %v, %v", steps, err)
	}
	for text, want := range map[string]string{
		"32":            `step 1, "32", must be NUMBER@AGE`,
		"32@0,":         `step 2, "", must be`,
		"32@0,x@5":      `step 2, "x@5", must be`,
		"32@-1":         `step 1, "32@-1", must be`,
		"32@5":          "the first step begins at 5, must begin at 0",
		"0@0":           "step 1 is 0, allowed is 1 to",
		"32@0,64@0":     "step 2 begins at 0, not after step 1 at 0",
		"1@0,2@9,3@8":   "step 3 begins at 8, not after step 2 at 9",
		"99999999999@0": "must be NUMBER@AGE",
	} {
		if _, err := ParseSchedule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	f.Add("32@0,100@200")
	f.Add("@,@")
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := ParseSchedule(text)
		if err == nil && steps.check(math.MaxInt32) != nil {
			t.Errorf("%q gives %v", text, steps)
		}
	})
}

// aged is a net of some samples.
type aged struct{ samples uint64 }

func (a aged) Current() Net {
	return Net{ID: "aged", Evaluator: &mcts.HashEvaluator{}, Samples: a.samples}
}

// TestMaxPliesSchedule: games are cut at the length of their number.
func TestMaxPliesSchedule(t *testing.T) {
	games, _ := play(t, 9, func(c *WorkerConfig) {
		c.Game.MaxPlies, c.Game.Schedule.MaxPlies = 40, Steps{{3, 0}, {6, 4}}
	})
	for ordinal, g := range games {
		want := 3
		if ordinal >= 4 {
			want = 6
		}
		if g.End != record.EndMaxPlies || len(g.Plies) != want {
			t.Errorf("game %d: %s after %d plies, want %d", ordinal, g.End, len(g.Plies), want)
		}
	}
}

func TestScheduleInGames(t *testing.T) {
	steps, _ := ParseSchedule("4@0,9@3,12@5")
	for name, tc := range map[string]struct {
		by   Age
		want func(ordinal uint64) uint32
	}{
		"episodes": {AgeEpisodes, func(o uint64) uint32 {
			return map[bool]uint32{true: 5, false: map[bool]uint32{true: 10, false: 13}[o < 5]}[o < 3]
		}},
		"samples": {AgeSamples, func(uint64) uint32 { return 10 }},
	} {
		games, _ := play(t, 7, func(c *WorkerConfig) {
			c.Nets, c.Game.TreeReuse = aged{4}, false
			c.Game.Search.Simulations = 0 // the schedule bounds the searches
			c.Game.Schedule = Schedule{By: tc.by, Simulations: steps}
		})
		for ordinal, g := range games {
			for i := range g.Plies {
				if g.Plies[i].Visits != tc.want(ordinal) {
					t.Fatalf("%s: game %d ply %d has %d visits, want %d", name, ordinal, i, g.Plies[i].Visits, tc.want(ordinal))
				}
			}
		}
	}
}

// sideVisits returns the root visits of a colour's searches, which must be equal.
func sideVisits(t *testing.T, g *record.Game, c chess.Color) uint32 {
	t.Helper()
	n := uint32(0)
	for i := range g.Plies {
		if chess.Color(i%2) != c || g.Plies[i].Visits == 0 {
			continue
		}
		if n != 0 && n != g.Plies[i].Visits {
			t.Fatalf("game %d: %v has searches of %d and %d visits", g.Ordinal, c, n, g.Plies[i].Visits)
		}
		n = g.Plies[i].Visits
	}
	return n
}

func TestOdds(t *testing.T) {
	odds := func(mirrored bool) func(*WorkerConfig) {
		return func(c *WorkerConfig) {
			c.Game.Search.Simulations, c.Game.TreeReuse, c.Game.MaxPlies = 40, false, 6
			c.Game.Odds = Odds{Probability: 0.5, Factor: 4}
			c.Game.Openings, _ = NewOpenings(nil, OrderRandom, 0)
			c.Game.Openings.Mirrored = mirrored
		}
	}
	games, _ := play(t, 200, odds(false))
	var less [2]int
	var logs float64
	for _, g := range games {
		white, black := sideVisits(t, g, chess.White), sideVisits(t, g, chess.Black)
		switch {
		case white < black && black == 41 && white >= 11:
			less[0]++
		case black < white && white == 41 && black >= 11:
			less[1]++
		case white != 41 || black != 41:
			t.Fatalf("game %d: %d and %d visits", g.Ordinal, white, black)
		}
		logs += math.Log(40 / float64(min(white, black)-1))
	}
	// Of 100 games with odds 50 a side; a few are so near 1 that both have 40.
	if n := less[0] + less[1]; n < 75 || n > 125 || less[0] < 28 || less[1] < 28 {
		t.Errorf("white searched less in %d games, black in %d of 200", less[0], less[1])
	}
	// The divisor's logarithm is uniform on [0, ln 4]: mean ln 4 / 2 over half the games.
	if mean, want := logs/200, math.Log(4)/4; math.Abs(mean-want) > 0.15 {
		t.Errorf("mean log divisor %v, want %v", mean, want)
	}
	pairs, _ := play(t, 60, odds(true))
	for k := uint64(0); k < 60; k += 2 {
		a, b := pairs[k], pairs[k+1]
		if sideVisits(t, a, chess.White) != sideVisits(t, b, chess.Black) || sideVisits(t, a, chess.Black) != sideVisits(t, b, chess.White) {
			t.Errorf("games %d and %d are no pair of equal odds for either side", k, k+1)
		}
	}
}

func TestGameSettingsAreChecked(t *testing.T) {
	for want, change := range map[string]func(*GameConfig){
		"full-search probability":       func(c *GameConfig) { c.PlayoutCap.FullProbability = 1.5 },
		"cheap simulations":             func(c *GameConfig) { c.PlayoutCap.CheapSimulations = -1 },
		"reduced simulations":           func(c *GameConfig) { c.ReducedVisits.Simulations = -1 },
		"reduced-visits q":              func(c *GameConfig) { c.ReducedVisits.Q = 1.1 },
		"reduced visits need":           func(c *GameConfig) { c.ReducedVisits.Simulations = 5 },
		"reduced-visits weight":         func(c *GameConfig) { c.ReducedVisits.Weight = -0.1 },
		"odds probability":              func(c *GameConfig) { c.Odds.Probability = math.NaN() },
		"odds factor":                   func(c *GameConfig) { c.Odds = Odds{0.5, 0.5} },
		"schedule: the first step":      func(c *GameConfig) { c.Schedule.Simulations = Steps{{5, 5}} },
		"schedule age":                  func(c *GameConfig) { c.Schedule.By = 7 },
		"temperature half-life":         func(c *GameConfig) { c.Temperature.HalfLife, c.Temperature.DecayPlies = 3, 4 },
		"temperature decay plies":       func(c *GameConfig) { c.Temperature.DecayPlies = -4 },
		"temperature cutoff ply":        func(c *GameConfig) { c.Temperature.CutoffPly = -4 },
		"temperature value cutoff":      func(c *GameConfig) { c.Temperature.ValueCutoff = 101 },
		"temperature visit offset":      func(c *GameConfig) { c.Temperature.VisitOffset = math.Inf(1) },
		"policy surprise":               func(c *GameConfig) { c.PolicySurprise = 2 },
		"early-fork probability":        func(c *GameConfig) { c.Fork.Early = 2 },
		"early-fork plies":              func(c *GameConfig) { c.Fork.EarlyPlies = -2 },
		"fork probability":              func(c *GameConfig) { c.Fork.Late = -1 },
		"side-position probability":     func(c *GameConfig) { c.Fork.SidePositions = 1.01 },
		"policy plies":                  func(c *GameConfig) { c.Openings.PolicyPlies = -1 },
		"policy temperature":            func(c *GameConfig) { c.Openings.PolicyTemperature = -1 },
		"opening stop probability":      func(c *GameConfig) { c.Openings.StopProbability = 1.2 },
		"neither simulations nor playo": func(c *GameConfig) { c.Search.Simulations = 0 },
	} {
		c := DefaultGameConfig()
		c.Openings, _ = NewOpenings(nil, OrderRandom, 0)
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
