package mcts

import (
	"math"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

func TestGumbelSearch(t *testing.T) {
	rng := newRNG(t)
	for i, fen := range signaturePositions {
		for _, sims := range []int{1, 5, 16, 64, 301} {
			cfg := gumbelConfig(sims)
			cfg.MaxBatch = 1 + i%4
			cfg.Gumbel.Rescale = i%2 == 0
			s := search(t, cfg, nil, position(t, fen), &HashEvaluator{}, rng)
			check(t, s)
			r := s.Root()
			if r.N != uint32(sims)+1 || len(r.Target) != len(r.Moves) {
				t.Fatalf("%s: %d visits, %d targets", fen, r.N, len(r.Target))
			}
			visited, most := 0, uint32(0)
			for _, m := range r.Moves {
				most = max(most, m.N)
				if m.N > 0 {
					visited++
				}
			}
			if want := min(16, sims, len(r.Moves)); visited != want && r.Proven == Unproven {
				t.Errorf("%s, %d visits: %d moves visited, want %d", fen, sims, visited, want)
			}
			best := r.Moves[r.Best]
			if best.N != most && r.Proven == Unproven {
				t.Errorf("%s, %d visits: the move has %d visits, another %d", fen, sims, best.N, most)
			}
			want := slowImproved(&cfg.Gumbel, float64(r.Raw.Q), s.t.edgesOf(&s.t.nodes[0]))
			for k := range want {
				if math.Abs(want[k]-float64(r.Target[k])) > 1e-5 {
					t.Fatalf("%s: target of move %d %v, want %v", fen, k, r.Target[k], want[k])
				}
			}
			if pv := s.PVOf(nil, s.Root().Best); pv[0] != best.Move {
				t.Errorf("%s: PV begins with %v, the move is %v", fen, pv[0], best.Move)
			}
		}
	}
}

func TestGumbelTreeDependsOnTheSeedAlone(t *testing.T) {
	searches := make([]*Search, len(signaturePositions))
	cache := NewCache(500)
	for i, fen := range signaturePositions {
		searches[i] = New(gumbelConfig(120), cache)
		searches[i].Reset(position(t, fen))
		searches[i].Begin(seeded(uint64(i)), true)
	}
	runAll(searches, &HashEvaluator{}, encoding.NewBatch(len(searches)))
	differs := 0
	for i, fen := range signaturePositions {
		alone := search(t, gumbelConfig(120), nil, position(t, fen), &HashEvaluator{}, seeded(uint64(i)))
		if !slices.Equal(alone.t.nodes, searches[i].t.nodes) || !slices.Equal(alone.t.edges, searches[i].t.edges) {
			t.Errorf("%s: the tree depends on the batch or the cache", fen)
		}
		other := search(t, gumbelConfig(120), nil, position(t, fen), &HashEvaluator{}, seeded(uint64(i+100)))
		if !slices.Equal(visitsOf(alone), visitsOf(other)) {
			differs++
		}
	}
	if differs < 10 {
		t.Errorf("another seed gave other visits in only %d positions", differs)
	}
}

// The literal tree: visits of a search without noise, which change only when
// the search is meant to change.
func TestGumbelGoldenVisits(t *testing.T) {
	s := search(t, gumbelConfig(64), nil, position(t, signaturePositions[0]), &HashEvaluator{}, nil)
	want := []uint32{3, 7, 0, 1, 3, 3, 0, 7, 1, 0, 0, 1, 1, 15, 1, 1, 1, 1, 3, 15}
	if got := visitsOf(s); !slices.Equal(got, want) {
		t.Errorf("%#v, want %v", got, want)
	}
}

func TestGumbelPlaysProvenWinsAndAvoidsProvenLosses(t *testing.T) {
	for _, fen := range []string{
		"6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1",
		"3r2k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1",
	} {
		for _, sims := range []int{1, 8, 64} {
			for seed := range uint64(5) {
				r := search(t, gumbelConfig(sims), nil, position(t, fen), uniform{}, seeded(seed)).Root()
				if best := r.Moves[r.Best]; best.Proven != ProvenWin || best.M != 1 || r.Proven != ProvenWin {
					t.Errorf("%s, %d visits, seed %d: %+v", fen, sims, seed, best)
				}
			}
		}
	}
	// Black threatens 1...Re1 mate, which only few moves prevent.
	fen := "4r1k1/5ppp/8/8/8/8/N4PPP/7K w - - 0 1"
	lost := 0
	for seed := range uint64(20) {
		cfg := gumbelConfig(600)
		cfg.Gumbel.Scale = 3
		r := search(t, cfg, nil, position(t, fen), uniform{}, seeded(seed)).Root()
		for _, m := range r.Moves {
			if m.Proven == ProvenLoss {
				lost++
			}
		}
		if r.Proven == Unproven && r.Moves[r.Best].Proven == ProvenLoss {
			t.Errorf("seed %d: plays a proven loss", seed)
		}
	}
	if lost == 0 {
		t.Error("no move was proven lost: the test shows nothing")
	}
}

func TestGumbelTreeReuseAndCancel(t *testing.T) {
	rng := newRNG(t)
	s := New(gumbelConfig(90), nil)
	for ply := range 30 {
		s.BeginWith(rng, Options{Limits: Limits{Playouts: 40}, Noise: ply%2 == 0})
		if s.over != chess.NotOver {
			break
		}
		kept := max(s.Root().N, 1)
		before := slices.Clone(visitsOf(s))
		b := encoding.NewBatch(4)
		s.Gather(b, 4)
		s.Cancel()
		finish(t, s, &HashEvaluator{}, 1+ply%3)
		check(t, s)
		r := s.Root()
		if r.N != kept+40 {
			t.Fatalf("ply %d: %d visits, %d were kept", ply, r.N, kept)
		}
		most := uint32(0)
		for i, m := range r.Moves {
			if kept > 1 {
				m.N -= before[i]
			}
			most = max(most, m.N)
		}
		best := r.Moves[r.Best]
		if kept > 1 {
			best.N -= before[r.Best]
		}
		if best.N != most && r.Proven == Unproven && best.Proven == Unproven {
			t.Errorf("ply %d: the move has %d new visits, another %d", ply, best.N, most)
		}
		s.Advance(best.Move)
		if r := s.Root(); r.N > 0 && len(r.Target) != len(r.Moves) {
			t.Fatalf("ply %d: no target before the next search", ply)
		}
	}
	// No visits left to give out: the move is one of those visited most.
	s = search(t, gumbelConfig(100), nil, position(t, signaturePositions[0]), &HashEvaluator{}, seeded(1))
	s.BeginWith(nil, Options{Limits: Limits{Simulations: 50}})
	if r := s.Root(); !s.Done() || r.Moves[r.Best].N != slices.Max(visitsOf(s)) {
		t.Errorf("done %v, best %+v", s.Done(), r.Moves[r.Best])
	}
	// Without a limit of visits the root goes on as the nodes below it.
	cfg := gumbelConfig(0)
	cfg.MaxNodes = 300
	s = search(t, cfg, nil, position(t, signaturePositions[0]), &HashEvaluator{}, nil)
	check(t, s)
	if len(s.t.nodes) != 300 {
		t.Errorf("%d nodes", len(s.t.nodes))
	}
}

func TestGumbelWithManyLeavesAtOnce(t *testing.T) {
	s := New(gumbelConfig(400), nil)
	s.Begin(seeded(3), true)
	largest := 0
	b := encoding.NewBatch(16)
	for !s.Done() {
		b.Reset()
		largest = max(largest, s.Gather(b, 16))
		_ = (&HashEvaluator{}).Evaluate(t.Context(), b)
		s.Apply(b)
		check(t, s)
	}
	if r := s.Root(); largest < 8 || r.N != 401 {
		t.Errorf("%d leaves at most, %d visits", largest, r.N)
	}
}
