package selfplay

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

func TestTemperatureOfOtherSystems(t *testing.T) {
	// lc0: temperature 1, tempdecay-delay-moves 2, tempdecay-moves 4.
	lc0 := Temperature{Start: 1, Plies: 4, DecayPlies: 8}
	toFloor := Temperature{Start: 1, Plies: 0, DecayPlies: 10, Floor: 0.5}
	cut := Temperature{Start: 1, Plies: 30, Floor: 0.3, CutoffPly: 40}
	for _, tc := range []struct {
		schedule Temperature
		ply      int
		want     float64
	}{
		{lc0, 0, 1}, {lc0, 4, 1}, {lc0, 6, 0.75}, {lc0, 8, 0.5}, {lc0, 10, 0.25}, {lc0, 12, 0}, {lc0, 100, 0},
		{toFloor, 0, 1}, {toFloor, 5, 0.75}, {toFloor, 10, 0.5}, {toFloor, 99, 0.5},
		{cut, 29, 1}, {cut, 39, 0.3}, {cut, 40, 0}, {cut, 41, 0},
	} {
		if got := tc.schedule.At(tc.ply); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%+v at %d: %v, want %v", tc.schedule, tc.ply, got, tc.want)
		}
	}
}

func TestWeighing(t *testing.T) {
	root := mcts.RootStats{Best: 0, Moves: []mcts.MoveStats{{N: 50, Q: 0.4}, {N: 30, Q: 0.31}, {N: 19, Q: 0.1}, {N: 1, Q: 0.5}, {}}}
	for name, tc := range map[string]struct {
		t      Temperature
		target []float32
		want   []float64
	}{
		"visits":        {Temperature{}, nil, []float64{50, 30, 19, 1, 0}},
		"value cutoff":  {Temperature{ValueCutoff: 5}, nil, []float64{50, 30, 0, 1, 0}}, // Q at least 0.3
		"narrow cutoff": {Temperature{ValueCutoff: 4}, nil, []float64{50, 0, 0, 1, 0}},  // Q at least 0.32
		"cutoff of 100": {Temperature{ValueCutoff: 100}, nil, []float64{50, 30, 19, 1, 0}},
		"offset":        {Temperature{VisitOffset: -1.5}, nil, []float64{48.5, 28.5, 17.5, 0, 0}},
		"target":        {Temperature{}, []float32{0.5, 0.5, 0, 0, 0}, []float64{50, 50, 0, 0, 0}},
		"target + 2":    {Temperature{VisitOffset: 2}, []float32{0.5, 0.25, 0.25, 0, 0}, []float64{52, 27, 27, 0, 0}},
	} {
		root.Target = tc.target
		got := tc.t.weigh(nil, &root)
		for i := range got {
			if math.Abs(got[i]-tc.want[i]) > 1e-9 {
				t.Errorf("%s: %v, want %v", name, got, tc.want)
				break
			}
		}
	}
}

func TestSampleAgainstReference(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, temperature := range []float64{0.5, 1, 2} {
		weights := make([]float64, 6)
		p, sum := make([]float64, 6), 0.0
		for i := range weights {
			weights[i] = rng.Float64() * 1000
			if i == 3 {
				weights[i] = 0
			}
			p[i] = math.Pow(weights[i], 1/temperature)
			sum += p[i]
		}
		const rounds = 20000
		var count [6]float64
		scratch := make([]float64, 6)
		for range rounds {
			copy(scratch, weights)
			count[sample(scratch, temperature, 0, rng)]++
		}
		for i := range p {
			q := p[i] / sum
			limit := 5*math.Sqrt(q*(1-q)/rounds) + 5./rounds // five standard errors; a few draws where q is tiny
			if q == 0 {
				limit = 0
			}
			if math.Abs(count[i]/rounds-q) > limit {
				t.Errorf("T %v, weight %v: drawn %v, want %v", temperature, weights[i], count[i]/rounds, q)
			}
		}
	}
	if got := sample([]float64{0, 0}, 1, 1, rng); got != 1 {
		t.Errorf("no weight: %d", got)
	}
}

// Moves far below the best are never drawn, whatever the temperature.
func TestValueCutoffInGames(t *testing.T) {
	games, _ := play(t, 10, func(c *WorkerConfig) {
		c.Game.Search.Simulations, c.Game.ExplorationRate = 40, 0
		c.Game.Temperature = Temperature{Start: 5, Plies: 1000, ValueCutoff: 3}
	})
	other := 0
	for _, g := range games {
		for i := range g.Plies {
			p := &g.Plies[i]
			if !(float64(p.Played.Q) >= float64(p.Best.Q)-0.06-1e-6) {
				t.Fatalf("played %v, best %v", p.Played.Q, p.Best.Q)
			}
			if p.Played != p.Best {
				other++
			}
		}
	}
	if other == 0 {
		t.Error("nothing but the best move was drawn")
	}
}

// A Gumbel search plays its own choice: with the temperature at 0 it has no noise
// and games from one position are one game, with 1 they differ.
func TestGumbelNoiseGoesWithTheTemperature(t *testing.T) {
	firsts := func(temperature Temperature, full float64) map[chess.Move]int {
		games, _ := play(t, 30, func(c *WorkerConfig) {
			c.Game.Search.Gumbel.Enabled, c.Game.Search.Simulations = true, 16
			c.Game.Search.Gumbel.ValueScale = 0.01 // the priors decide, which are far from one move
			c.Game.Search.NoiseEpsilon, c.Game.Noise = 0, false
			c.Game.ExplorationRate, c.Game.Temperature, c.Game.MaxPlies = 0, temperature, 2
			c.Game.PlayoutCap = PlayoutCap{full, 16}
		})
		seen := map[chess.Move]int{}
		for _, g := range games {
			seen[g.Plies[0].Move]++
			if p := &g.Plies[0]; full == 1 && p.Played != p.Best {
				t.Errorf("played %v, best %v", p.Played, p.Best)
			}
		}
		return seen
	}
	for _, full := range []float64{1, 0} { // a cheap search is drawn from instead
		if seen := firsts(Temperature{}, full); len(seen) != 1 {
			t.Errorf("temperature 0: %v", seen)
		}
		if seen := firsts(Temperature{Start: 1, Plies: 10}, full); len(seen) < 4 {
			t.Errorf("temperature 1: %v", seen)
		}
	}
}

// With forced playouts the move comes from the pruned target: never one that it
// gives nothing.
func TestForcedPlayoutsAreNotPlayed(t *testing.T) {
	games, _ := play(t, 10, func(c *WorkerConfig) {
		c.Game.Search.ForcedPlayouts = 2
		c.Game.Search.Simulations, c.Game.ExplorationRate = 60, 0
		c.Game.Temperature = Temperature{Start: 1.5, Plies: 1000}
	})
	pruned := 0
	for _, g := range games {
		h := newLine(t, g)
		for i := range g.Plies {
			p := &g.Plies[i]
			var l chess.MoveList
			h.Board().GenerateMoves(&l)
			if p.Kind != record.PolicyProbs || p.Probs[l.Index(p.Move)] == 0 {
				t.Fatalf("ply %d: played %v with the target %v", i, p.Move, p.Probs)
			}
			for _, v := range p.Probs {
				if v == 0 {
					pruned++
				}
			}
			h.Push(p.Move)
		}
	}
	if pruned == 0 {
		t.Error("no move without a target")
	}
}

// newLine returns the line at a game's start.
func newLine(t *testing.T, g *record.Game) *chess.History {
	t.Helper()
	start, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	return chess.NewHistory(start)
}
