package mcts

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// TestOnly restricts searches of all kinds to some moves at random: no other is
// visited, and the best is one of them.
func TestOnly(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	forced := config(0)
	forced.ForcedPlayouts, forced.Stop.SmartPruning = 2, true
	for name, cfg := range map[string]*Config{"puct": config(0), "gumbel": gumbelConfig(0), "forced and stops": forced} {
		for i, fen := range signaturePositions {
			for _, limits := range []Limits{{Simulations: 120}, {Playouts: 3}, {}} {
				h := position(t, fen)
				var list chess.MoveList
				h.Board().GenerateMoves(&list)
				only := slices.Clone(list.Slice())
				rng.Shuffle(len(only), func(a, b int) { only[a], only[b] = only[b], only[a] })
				only = only[:1+rng.IntN(len(only))]
				s := New(cfg, nil)
				s.Reset(h)
				s.BeginWith(rng, Options{Limits: limits, Noise: i%2 == 0, ForcedPlayouts: true, Only: only})
				drive(t, s, 1+i%4, 150)
				check(t, s)
				r := s.Root()
				for _, m := range r.Moves {
					if m.N > 0 && !slices.Contains(only, m.Move) {
						t.Fatalf("seed %d, %s, %s: %s has %d visits", seed, name, fen, h.Board().UCI(m.Move, false), m.N)
					}
				}
				best := r.Moves[r.Best]
				if !slices.Contains(only, best.Move) || best.N == 0 {
					t.Fatalf("seed %d, %s, %s: best %s", seed, name, fen, h.Board().UCI(best.Move, false))
				}
				if pv := s.PVOf(nil, s.Root().Best); len(pv) == 0 || pv[0] != best.Move {
					t.Fatalf("seed %d, %s, %s: PV %v", seed, name, fen, pv)
				}
			}
		}
	}
}

// drive runs a search to its end, or for so many batches.
func drive(t *testing.T, s *Search, limit, batches int) {
	t.Helper()
	b := encoding.NewBatch(limit)
	for ; !s.Done() && batches > 0; batches-- {
		b.Reset()
		s.GatherSome(b, limit, 100)
		if err := (&HashEvaluator{}).Evaluate(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		s.Apply(b)
	}
}

// TestOnlyLeavesOutAMate: a mate that is left out is not played, one move that
// loses is the best where it is the only one, and the next search knows of
// nothing left out.
func TestOnlyLeavesOutAMate(t *testing.T) {
	h := position(t, "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")
	quiet, err := h.Board().ParseUCI("g1f1")
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]*Config{"puct": config(60), "gumbel": gumbelConfig(60)} {
		s := New(cfg, nil)
		s.Reset(h)
		s.BeginWith(seeded(1), Options{Limits: Limits{Simulations: 60}, Only: []chess.Move{quiet}})
		finish(t, s, uniform{}, 1)
		if r := s.Root(); r.Moves[r.Best].Move != quiet || r.Moves[r.Best].N != 60 {
			t.Errorf("%s: %+v", name, r.Moves[r.Best])
		}
		s.BeginWith(seeded(1), Options{Limits: Limits{Playouts: 60}})
		finish(t, s, uniform{}, 1)
		if r := s.Root(); r.Moves[r.Best].Proven != ProvenWin || r.Moves[r.Best].M != 1 {
			t.Errorf("%s, all moves: %+v", name, r.Moves[r.Best])
		}
		// None of the moves is one of the position: nothing is left out.
		s.Reset(h)
		s.BeginWith(seeded(1), Options{Limits: Limits{Simulations: 60}, Only: []chess.Move{chess.NewMove(0, 63, 0)}})
		finish(t, s, uniform{}, 1)
		if r := s.Root(); r.Moves[r.Best].Proven != ProvenWin {
			t.Errorf("%s, a foreign move: %+v", name, r.Moves[r.Best])
		}
	}
	// Kf8 runs into the mate, and is all there is.
	lost := position(t, "6k1/1R6/8/8/8/8/8/R5K1 b - - 0 1")
	m, err := lost.Board().ParseUCI("g8f8")
	if err != nil {
		t.Fatal(err)
	}
	s := New(config(100), nil)
	s.Reset(lost)
	s.BeginWith(nil, Options{Limits: Limits{Simulations: 100}, Only: []chess.Move{m}})
	finish(t, s, uniform{}, 1)
	if r := s.Root(); r.Moves[r.Best].Move != m || r.Moves[r.Best].Proven != ProvenLoss {
		t.Errorf("%+v", r.Moves[r.Best])
	}
}

// TestOrder: the moves from the best to the worst, each with its own line.
func TestOrder(t *testing.T) {
	for _, cfg := range []*Config{config(300), gumbelConfig(300)} {
		for _, fen := range signaturePositions {
			h := position(t, fen)
			s := search(t, cfg, nil, h, &HashEvaluator{}, nil)
			r := s.Root()
			order := r.Order([]int{-7})
			if order[0] != -7 || order[1] != r.Best {
				t.Fatalf("%s: %v, the best is %d", fen, order, r.Best)
			}
			order = order[1:]
			visited := 0
			for _, m := range r.Moves {
				if m.N > 0 {
					visited++
				}
			}
			if len(order) != visited {
				t.Errorf("%s: %d moves of %d visited", fen, len(order), visited)
			}
			for i, k := range order {
				if i > 1 && better(&r.Moves[k], &r.Moves[order[i-1]]) {
					t.Errorf("%s: %v: %d is better than the one before it", fen, order, k)
				}
				line := chess.NewHistory(*h.Board())
				pv := s.PVOf(nil, k)
				for _, m := range pv {
					var l chess.MoveList
					if line.Board().GenerateMoves(&l); l.Index(m) < 0 {
						t.Fatalf("%s: %v is no line", fen, pv)
					}
					line.Push(m)
				}
				if pv[0] != r.Moves[k].Move {
					t.Errorf("%s: the line of %d begins with another move", fen, k)
				}
			}
		}
	}
	if order := new(RootStats{Best: -1}).Order(nil); order != nil {
		t.Errorf("a root without moves: %v", order)
	}
}

// TestDeepest holds the depth of a search against the tree that it grew.
func TestDeepest(t *testing.T) {
	s := search(t, config(500), nil, position(t, signaturePositions[1]), &HashEvaluator{}, nil)
	var depth func(i int32) int
	depth = func(i int32) (d int) {
		for _, e := range s.t.edgesOf(&s.t.nodes[i]) {
			if e.child != none {
				d = max(d, 1+depth(e.child))
			}
		}
		return d
	}
	if got, want := s.Deepest(), depth(0); got != want || want < 3 {
		t.Errorf("deepest %d, the tree has %d plies", got, want)
	}
	if s.Begin(nil, false); s.Deepest() != 0 {
		t.Errorf("%d plies of a search that has just begun", s.Deepest())
	}
}

// TestGatherSomeReturns: in a search without a limit whose every line is decided
// no simulation asks the network.
func TestGatherSomeReturns(t *testing.T) {
	s := New(config(0), nil)
	s.Reset(position(t, "8/8/4k3/3p4/3P4/4K3/8/8 w - - 99 100")) // any move draws
	s.BeginWith(nil, Options{})
	drive(t, s, 1, 1) // the root
	b := encoding.NewBatch(1)
	before := s.Counts().Sum()
	if rows := s.GatherSome(b, 1, 1000); rows != 0 || s.Counts().Sum() != before+1000 || s.Done() {
		t.Errorf("%d rows, %d simulations, done %v", rows, s.Counts().Sum()-before, s.Done())
	}
}

func TestCacheFull(t *testing.T) {
	c := NewCache(100) // room for 4000 priors
	for i, want := range []float64{0, 0.25, 0.5, 0.75, 1, 1} {
		if got := c.Full(); got != want {
			t.Errorf("after %d answers: %v, want %v", 25*i, got, want)
		}
		for k := range 25 {
			c.put(key{uint64(i), mix(uint64(100*i + k))}, make([]float32, 40), [3]float32{}, 0)
		}
	}
	if c.Clear(); c.Full() != 0 {
		t.Errorf("a cleared cache is %v full", c.Full())
	}
	if NewCache(0).Full() != 0 {
		t.Error("no cache is full")
	}
}
