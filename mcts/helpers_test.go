package mcts

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// uniform answers every position with equal priors and a drawn value.
type uniform struct{}

func (uniform) Evaluate(_ context.Context, b *encoding.Batch) error {
	for i := range b.N {
		prior := b.PriorOf(i)
		for k := range prior {
			prior[k] = 1 / float32(len(prior))
		}
		b.WDL[i], b.M[i] = [3]float32{0.25, 0.5, 0.25}, 40
	}
	return nil
}

// position returns the line of one position.
func position(t testing.TB, fen string, moves ...string) *chess.History {
	t.Helper()
	h := chess.NewHistory(chesstest.Board(t, fen))
	for _, text := range moves {
		m, err := h.Board().ParseUCI(text)
		if err != nil {
			t.Fatal(err)
		}
		h.Push(m)
	}
	return h
}

// search runs a search from h to its end.
func search(t testing.TB, cfg *Config, cache *Cache, h *chess.History, ev Evaluator, rng *rand.Rand) *Search {
	t.Helper()
	s := New(cfg, cache)
	s.Reset(h)
	s.Begin(rng, rng != nil)
	finish(t, s, ev, max(cfg.MaxBatch, 1))
	return s
}

// finish drives a search alone to its end.
func finish(t testing.TB, s *Search, ev Evaluator, limit int) {
	t.Helper()
	b := encoding.NewBatch(limit)
	for !s.Done() {
		b.Reset()
		s.Gather(b, limit)
		if err := ev.Evaluate(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		s.Apply(b)
	}
}

// check verifies what every tree promises at rest.
func check(t testing.TB, s *Search) {
	t.Helper()
	for i := range s.t.nodes {
		n := &s.t.nodes[i]
		if n.vl != 0 || n.kind == kindPending {
			t.Fatalf("node %d: virtual loss %d, kind %d at rest", i, n.vl, n.kind)
		}
		if n.n == 0 {
			continue
		}
		if q := n.w / float64(n.n); !(q >= -1-1e-6 && q <= 1+1e-6) {
			t.Fatalf("node %d: Q %v", i, q)
		}
		if d := n.d / float64(n.n); !(d >= -1e-6 && d <= 1+1e-6) {
			t.Fatalf("node %d: D %v", i, d)
		}
		checkChildren(t, s, i)
	}
}

// checkChildren compares an expanded node's sums with those of its edges.
func checkChildren(t testing.TB, s *Search, i int) {
	t.Helper()
	n := &s.t.nodes[i]
	if n.kind != kindExpanded {
		return
	}
	sum, w, m := uint32(1), float64(n.rawQ), float64(n.rawM)
	for k, e := range s.t.edgesOf(n) {
		if e.vl != 0 {
			t.Fatalf("node %d edge %d: virtual loss %d at rest", i, k, e.vl)
		}
		if e.n == 0 {
			continue
		}
		c := &s.t.nodes[e.child]
		if c.n != e.n || e.q != float32(-c.w/float64(c.n)) || e.proven != c.proven.flip() {
			t.Fatalf("node %d edge %d: N %d Q %v %v, child has %d %v %v", i, k, e.n, e.q, e.proven, c.n, -c.w/float64(c.n), c.proven)
		}
		if !(e.q >= -1 && e.q <= 1) {
			t.Fatalf("node %d edge %d: Q %v", i, k, e.q)
		}
		sum += c.n
		w -= c.w
		m += c.m + float64(c.n)
	}
	if n.proven != Unproven && i != 0 {
		if n.w != n.proven.q()*float64(n.n) {
			t.Fatalf("node %d is a proven %v with Q %v", i, n.proven, n.w/float64(n.n))
		}
		return
	}
	if sum != n.n {
		t.Fatalf("node %d: N %d, its moves and itself %d", i, n.n, sum)
	}
	// Sums of float32 values in float64: only the order of additions differs.
	if math.Abs(w-n.w) > 1e-6*float64(n.n) || math.Abs(m-n.m) > 1e-4*float64(n.n) {
		t.Fatalf("node %d: W %v M %v, from its moves %v %v", i, n.w, n.m, w, m)
	}
}

// visitsOf returns the visits of a root's moves in generation order.
func visitsOf(s *Search) []uint32 {
	var visits []uint32
	for _, m := range s.Root().Moves {
		visits = append(visits, m.N)
	}
	return visits
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
