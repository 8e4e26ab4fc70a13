package selfplay

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

func TestSurpriseWeightsAgainstReference(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		plies := make([]record.Ply, 1+rng.IntN(80))
		share := []float64{0, 0.5, 1, rng.Float64()}[rng.IntN(4)]
		full := func(i int) bool { return plies[i].Flags&record.FullSearch != 0 }
		var w, kl, want []float64
		for i := range plies {
			plies[i].Weight, plies[i].KLD = 0, float32(rng.ExpFloat64())
			if rng.IntN(3) > 0 {
				plies[i].Flags, plies[i].Weight = record.FullSearch, float32([]float64{1, 0.1}[rng.IntN(2)])
			}
			if rng.IntN(5) == 0 {
				plies[i].KLD = smallestNormal
			}
			w, kl = append(w, float64(plies[i].Weight)), append(kl, float64(plies[i].KLD))
		}
		sum, surprise := 0.0, 0.0
		for i := range plies {
			if full(i) {
				sum, surprise = sum+w[i], surprise+w[i]*kl[i]
			}
		}
		for i := range plies {
			v := w[i]
			if full(i) && surprise > 1e-30 {
				v = (1-share)*w[i] + share*sum*(w[i]*kl[i]/surprise)
			}
			want = append(want, v)
		}
		surpriseWeights(plies, share)
		got := 0.0
		for i := range plies {
			got += float64(plies[i].Weight)
			if math.Abs(float64(plies[i].Weight)-want[i]) > 1e-6*(1+want[i]) {
				t.Fatalf("ply %d of %d, share %v: weight %v, want %v", i, len(plies), share, plies[i].Weight, want[i])
			}
		}
		if math.Abs(got-sum) > 1e-6*(1+sum) { // one float32 rounding a row
			t.Fatalf("the sum went from %v to %v", sum, got)
		}
	}
}

func TestSurpriseWeightsByHand(t *testing.T) {
	full := record.FullSearch
	plies := []record.Ply{
		{Weight: 1, KLD: 0.3, Flags: full}, {Weight: 0, KLD: 9}, {Weight: 1, KLD: 0.1, Flags: full}, {Weight: 0, KLD: 5},
	}
	surpriseWeights(plies, 0.5) // of 2: 1 evenly, 1 as 3 to 1
	for i, want := range []float32{1.25, 0, 0.75, 0} {
		if got := plies[i].Weight; math.Abs(float64(got-want)) > 1e-6 {
			t.Errorf("ply %d: %v, want %v", i, got, want)
		}
	}
	flat := []record.Ply{{Weight: 1, KLD: smallestNormal, Flags: full}, {Weight: 1, KLD: smallestNormal, Flags: full}}
	if surpriseWeights(flat, 1); flat[0].Weight != 1 || flat[1].Weight != 1 {
		t.Errorf("without surprise: %v and %v", flat[0].Weight, flat[1].Weight)
	}
}

func TestSurpriseWeightsInGames(t *testing.T) {
	plain, _ := play(t, 6, func(*WorkerConfig) {})
	weighted, _ := play(t, 6, func(c *WorkerConfig) { c.Game.PolicySurprise = 0.5 })
	for ordinal, g := range weighted {
		if moves(g) != moves(plain[ordinal]) {
			t.Fatalf("game %d: weights change moves", ordinal)
		}
		sum, unequal := 0.0, 0
		for i := range g.Plies {
			sum += float64(g.Plies[i].Weight)
			if g.Plies[i].Weight < 0.5 {
				t.Errorf("game %d ply %d: weight %v is below the even half", ordinal, i, g.Plies[i].Weight)
			}
			if g.Plies[i].Weight != 1 {
				unequal++
			}
		}
		if n := float64(len(g.Plies)); math.Abs(sum-n) > 1e-5*n || unequal < len(g.Plies)/2 {
			t.Errorf("game %d: weights of %v rows sum to %v, %d differ from 1", ordinal, n, sum, unequal)
		}
	}
}

func TestTargetKLD(t *testing.T) {
	moves := []mcts.MoveStats{{P: 0.5}, {P: 0.25}, {P: 0.25}}
	want := 0.8*math.Log(0.8/0.5) + 0.2*math.Log(0.2/0.25)
	target := []float64{0.8, 0.2, 0}
	if got := float64(policyKLD(moves, func(i int) float64 { return target[i] })); math.Abs(got-want) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
}

// A search that gives a target has it recorded; the visits stay those of the search.
func TestTargetsAreRecorded(t *testing.T) {
	for name, change := range map[string]func(*WorkerConfig){
		"gumbel": func(c *WorkerConfig) { c.Game.Search.Gumbel.Enabled = true },
		"forced": func(c *WorkerConfig) { c.Game.Search.ForcedPlayouts = 2 },
	} {
		games, _ := play(t, 8, func(c *WorkerConfig) {
			c.Game.Search.Simulations = 24
			c.Game.PlayoutCap = PlayoutCap{FullProbability: 0.5, CheapSimulations: 8}
			change(c)
		})
		full, cheap := 0, 0
		for _, g := range games {
			for i := range g.Plies {
				p := &g.Plies[i]
				if p.Flags&record.FullSearch == 0 {
					cheap++
					if p.Kind != record.PolicyCounts || p.Weight != 0 {
						t.Fatalf("%s: cheap ply %d: %+v", name, i, p)
					}
					continue
				}
				full++
				if p.Kind != record.PolicyProbs || p.Weight != 1 || !(p.KLD > 0) || p.Visits < 25 {
					t.Fatalf("%s: full ply %d: %+v", name, i, p)
				}
			}
		}
		if full < 40 || cheap < 40 {
			t.Errorf("%s: %d full and %d cheap searches", name, full, cheap)
		}
	}
}
