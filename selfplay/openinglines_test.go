package selfplay

import (
	"math"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/record"
)

// lineFrom returns a start with the moves in UCI's notation.
func lineFrom(t *testing.T, uci string) Start {
	t.Helper()
	s := Start{Board: chess.StartBoard(), Weight: 1}
	h := chess.NewHistory(s.Board)
	for text := range strings.FieldsSeq(uci) {
		m, err := h.Board().ParseUCI(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Moves = append(s.Moves, m)
		h.Push(m)
	}
	return s
}

const spanish = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6"

func TestOpeningLines(t *testing.T) {
	start := lineFrom(t, spanish)
	games, _ := play(t, 6, func(c *WorkerConfig) {
		c.Game.Openings, _ = NewOpenings([]Start{start}, OrderSequential, 1)
	})
	for _, g := range games {
		if g.Start != "" || opened(g) != 7 {
			t.Fatalf("start %q, %d opening plies", g.Start, opened(g))
		}
		for i, m := range start.Moves {
			if p := &g.Plies[i]; p.Move != m || p.Kind != record.PolicyNone || p.Weight != 0 {
				t.Fatalf("ply %d: %+v", i, p)
			}
		}
	}
}

func TestOpeningLinesAreChecked(t *testing.T) {
	illegal := lineFrom(t, spanish)
	illegal.Moves[4] = chess.NewMove(0, 63, chess.NoPiece)
	mate := lineFrom(t, "f2f3 e7e5 g2g4 d8h4")
	for want, s := range map[string]Start{
		"start 2: ply 5 of its line, a1h8, is not legal in r1bqkbnr/pppp1ppp/2n5": illegal,
		"start 2: the game is over (checkmate) after 4 plies":                     mate,
		"has 1001 plies": {Board: chess.StartBoard(), Weight: 1, Moves: make([]chess.Move, 1001)},
	} {
		if _, err := NewOpenings([]Start{lineFrom(t, ""), s}, OrderRandom, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A line of n plies is left with chance p at each: ply k is reached with (1-p)^k. So are
// random plies.
func TestStopProbability(t *testing.T) {
	const rounds = 400
	for name, openings := range map[string]func() (*Openings, error){
		"line":   func() (*Openings, error) { return NewOpenings([]Start{lineFrom(t, spanish)}, OrderRandom, 0) },
		"random": func() (*Openings, error) { return NewOpenings(nil, OrderRandom, 6) },
	} {
		games, _ := play(t, rounds, func(c *WorkerConfig) {
			c.Game.MaxPlies, c.Game.Search.Simulations = 7, 2
			c.Game.Openings, _ = openings()
			c.Game.Openings.StopProbability = 0.3
		})
		var reached [7]float64
		for _, g := range games {
			for i := range opened(g) + 1 {
				reached[i]++
			}
		}
		for i, n := range reached {
			p := math.Pow(0.7, float64(i))
			if se := math.Sqrt(p * (1 - p) / rounds); math.Abs(n/rounds-p) > 4.5*se+1e-9 {
				t.Errorf("%s: ply %d was reached in %v of the games, want %v", name, i, n/rounds, p)
			}
		}
	}
}

// Policy plies are drawn from the priors of the network, without a search.
func TestPolicyPliesFollowThePriors(t *testing.T) {
	const rounds = 600
	draw := func(temperature float64) (count map[chess.Move]float64, stats *Stats) {
		games, stats := play(t, rounds, func(c *WorkerConfig) {
			c.Game.MaxPlies, c.Game.Search.Simulations, c.CacheEntries = 2, 2, 0
			c.Game.Openings, _ = NewOpenings(nil, OrderRandom, 0)
			c.Game.Openings.PolicyPlies, c.Game.Openings.PolicyTemperature = 1, temperature
		})
		count = map[chess.Move]float64{}
		for _, g := range games {
			p := &g.Plies[0]
			if p.Kind != record.PolicyNone || p.Weight != 0 || p.Visits != 0 || p.Flags&record.FullSearch != 0 || math.IsNaN(float64(p.Orig.Q)) || !math.IsNaN(float64(p.Root.Q)) {
				t.Fatalf("%+v", p)
			}
			if p := &g.Plies[1]; p.Weight != 1 || p.Visits != 3 {
				t.Fatalf("after it: %+v", p)
			}
			count[p.Move]++
		}
		return count, stats
	}
	priors := rootPriors(t)
	for _, temperature := range []float64{0, 1, 0.5} {
		count, stats := draw(temperature)
		exponent, sum := 1.0, 0.0
		if temperature > 0 {
			exponent = 1 / temperature
		}
		for _, p := range priors {
			sum += math.Pow(p, exponent)
		}
		for m, prior := range priors {
			p := math.Pow(prior, exponent) / sum
			if se := math.Sqrt(p*(1-p)/rounds) + 1e-3; math.Abs(count[m]/rounds-p) > 4.5*se {
				t.Errorf("temperature %v: %v was drawn in %v, want %v", temperature, m, count[m]/rounds, p)
			}
		}
		// One evaluation for the policy's ply, and at most three for the search.
		if n := stats.Evaluations.Load(); n > 4*rounds {
			t.Errorf("%d evaluations of %d games", n, rounds)
		}
	}
}

// rootPriors returns the hash evaluator's priors of the start position.
func rootPriors(t *testing.T) map[chess.Move]float64 {
	t.Helper()
	c := short()
	g := newGame(&c, nil)
	w := worker(nil, nil)
	g.start(&w, 0, w.Nets.Current())
	answer(t, g)
	priors := map[chess.Move]float64{}
	for _, m := range g.search.Root().Moves {
		priors[m.Move] = float64(m.P)
	}
	return priors
}

func TestPolicyPliesStopBeforeTheEnd(t *testing.T) {
	games, _ := play(t, 20, func(c *WorkerConfig) {
		from(t, c, "8/8/8/3k4/8/8/3p4/3K4 w - - 0 1")
		c.Game.Openings.PolicyPlies = 200
	})
	for _, g := range games {
		if last := &g.Plies[len(g.Plies)-1]; last.Visits == 0 && g.End != record.EndMaxPlies {
			t.Errorf("the policy ended a game: %v", g.End)
		}
	}
}

// The games of a pair have one opening, also that of the policy, and part then.
func TestMirroredOpenings(t *testing.T) {
	starts := []Start{lineFrom(t, spanish), lineFrom(t, "d2d4 d7d5"), lineFrom(t, "c2c4")}
	for _, order := range []Order{OrderRandom, OrderSequential, OrderShuffled} {
		games, _ := play(t, 24, func(c *WorkerConfig) {
			c.Game.Openings, _ = NewOpenings(starts, order, 2)
			c.Game.Openings.Mirrored, c.Game.Openings.PolicyPlies, c.Game.Openings.StopProbability = true, 3, 0.1
		})
		apart, first := 0, map[string]int{}
		for k := uint64(0); k < 24; k += 2 {
			a, b := games[k], games[k+1]
			n := opened(a)
			if n != opened(b) || moves(&record.Game{Plies: a.Plies[:n]}) != moves(&record.Game{Plies: b.Plies[:n]}) {
				t.Fatalf("games %d and %d begin differently", k, k+1)
			}
			if moves(a) != moves(b) {
				apart++
			}
			first[moves(&record.Game{Plies: a.Plies[:n]})]++
		}
		if apart < 10 || len(first) < 10 {
			t.Errorf("order %d: %d of 12 pairs part, %d openings", order, apart, len(first))
		}
	}
}
