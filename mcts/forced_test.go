package mcts

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// slowForced returns the ordinal that forced playouts choose, -1 for none: the
// definition in float64.
func slowForced(s *Search) int {
	edges := s.t.edgesOf(&s.t.nodes[0])
	total := 0.0
	for _, e := range edges {
		total += float64(e.n)
	}
	for k, e := range edges {
		forced := math.Sqrt(s.cfg.ForcedPlayouts * float64(s.rootPrior[k]) * total)
		if e.n > 0 && e.proven == Unproven && float64(e.n) < forced {
			return k
		}
	}
	return -1
}

// slowPruned is the pruned target in float64; near is true if a comparison was
// so close that float32 may decide it otherwise.
func slowPruned(s *Search) (target []float64, near bool) {
	edges := s.t.edgesOf(&s.t.nodes[0])
	target = make([]float64, len(edges))
	total, top := 0.0, 0
	for k, e := range edges {
		total += float64(e.n)
		target[k] = float64(e.n)
		t := edges[top]
		if e.n > t.n || e.n == t.n && e.q > t.q {
			top = k
		}
	}
	score := func(k int, n float64) float64 {
		return float64(edges[k].q) + slowC(s, &s.t.nodes[0])*float64(s.rootPrior[k])*math.Sqrt(total)/(1+n)
	}
	best, sum := score(top, target[top]), 0.0
	for k := range edges {
		if k != top {
			forced := math.Sqrt(s.cfg.ForcedPlayouts * float64(s.rootPrior[k]) * total)
			near = near || math.Abs(forced-math.Round(forced)) < 1e-5
			for free := math.Floor(forced); free > 0 && target[k] > 0; free-- {
				next := score(k, target[k]-1)
				near = near || math.Abs(next-best) < 1e-5
				if next >= best {
					break
				}
				target[k]--
			}
			if target[k] <= 1 {
				target[k] = 0
			}
		}
		sum += target[k]
	}
	for k := range target {
		target[k] /= sum
	}
	return target, near
}

func TestForcedPlayoutsFollowTheDefinition(t *testing.T) {
	rng := newRNG(t)
	forced, compared, pruned := 0, 0, 0
	for i, fen := range signaturePositions {
		cfg := config(300)
		cfg.ForcedPlayouts, cfg.CPUCTStdev = 2, 0.2*float64(i%2)
		s := New(cfg, nil)
		s.Reset(position(t, fen))
		s.BeginWith(rng, Options{Limits: Limits{Simulations: 300}, Noise: true, ForcedPlayouts: true})
		b := encoding.NewBatch(1)
		for !s.Done() {
			if s.t.nodes[0].kind == kindExpanded {
				if want := slowForced(s); want >= 0 && !(s.mate >= 0 && s.t.edgesOf(&s.t.nodes[0])[s.mate].n == 0) {
					forced++
					if got := s.selectRoot(); got != want {
						t.Fatalf("%s: move %d is selected, move %d is forced", fen, got, want)
					}
				}
			}
			b.Reset()
			s.Gather(b, 1)
			if err := (&HashEvaluator{}).Evaluate(context.Background(), b); err != nil {
				t.Fatal(err)
			}
			s.Apply(b)
		}
		check(t, s)
		r := s.Root()
		visits := slices.Clone(visitsOf(s))
		want, near := slowPruned(s)
		if near {
			continue
		}
		compared++
		sum := 0.0
		for k := range want {
			if math.Abs(want[k]-float64(r.Target[k])) > 1e-6 {
				t.Fatalf("%s: target of move %d %v, want %v; %d visits", fen, k, r.Target[k], want[k], visits[k])
			}
			if r.Target[k] == 0 && visits[k] > 1 {
				pruned++
			}
			sum += float64(r.Target[k])
		}
		if math.Abs(sum-1) > 1e-5 || r.N != 301 {
			t.Errorf("%s: the target sums to %v, %d visits", fen, sum, r.N)
		}
		// Of several with the most visits the best one loses none.
		if share, kept := float64(slices.Max(visits))/300, float64(slices.Max(r.Target)); kept < share-1e-6 {
			t.Errorf("%s: the best move has %v of the visits and %v of the target", fen, share, kept)
		}
	}
	if forced < 500 || compared < 10 || pruned < 10 {
		t.Errorf("%d forced visits, %d targets compared, %d moves pruned: the test shows little", forced, compared, pruned)
	}
}

func TestWithoutForcedPlayoutsNothingChanges(t *testing.T) {
	changed := 0
	for _, fen := range signaturePositions[:8] {
		plain := search(t, config(200), nil, position(t, fen), &HashEvaluator{}, seeded(4))
		if plain.Root().Target != nil {
			t.Errorf("%s: a target without forced playouts", fen)
		}
		cfg := config(200)
		cfg.ForcedPlayouts = 0
		s := New(cfg, nil)
		s.Reset(position(t, fen))
		s.BeginWith(seeded(4), Options{Limits: Limits{Simulations: 200}, Noise: true, ForcedPlayouts: true})
		finish(t, s, &HashEvaluator{}, 1)
		if !slices.Equal(visitsOf(plain), visitsOf(s)) || s.Root().Target != nil {
			t.Errorf("%s: k = 0 changes the search", fen)
		}
		cfg.ForcedPlayouts = 2
		s.DropTree()
		s.BeginWith(seeded(4), Options{Limits: Limits{Simulations: 200}, Noise: true, ForcedPlayouts: true})
		finish(t, s, &HashEvaluator{}, 1)
		if s.Root().Target == nil {
			t.Errorf("%s: no target with k = 2", fen)
		}
		if !slices.Equal(visitsOf(plain), visitsOf(s)) {
			changed++
		}
		r := s.Root()
		s.Advance(r.Moves[r.Best].Move)
		if s.Root().Target != nil {
			t.Errorf("%s: a target of a root that was not searched", fen)
		}
	}
	if changed < 6 {
		t.Errorf("k = 2 changed the visits of only %d positions", changed)
	}
}
