package mcts

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

func config(simulations int) *Config {
	c := DefaultConfig()
	c.Simulations = simulations
	return &c
}

func TestMateInOneIsFoundForBothColours(t *testing.T) {
	for _, tc := range []struct{ fen, mate string }{
		{"6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d8"},
		{"3r2k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1", "d8d1"},
		{"7k/8/5KQ1/8/8/8/8/8 w - - 0 1", "g6g7"},
		{"8/8/8/8/8/5kq1/8/7K b - - 0 1", "g3g2"},
		{"r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", "h5f7"},
	} {
		for _, sims := range []int{64, 200, 800} {
			h := position(t, tc.fen)
			s := search(t, config(sims), nil, h, uniform{}, nil)
			check(t, s)
			r := s.Root()
			// The queen endings have several mates: any proven win in one ply will do.
			best := r.Moves[r.Best]
			if best.Proven != ProvenWin || best.M != 1 || best.Q != 1 || r.Proven != ProvenWin || r.Value.Q != 1 {
				t.Errorf("%s, %d visits: best %s %+v, root %v", tc.fen, sims, h.Board().UCI(best.Move, false), best, r.Proven)
			}
			m, err := h.Board().ParseUCI(tc.mate)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(r.Moves, func(x MoveStats) bool { return x.Move == m })
			if r.Moves[i].N > 0 && r.Moves[i].Proven != ProvenWin {
				t.Errorf("%s: %s is visited and not a proven win", tc.fen, tc.mate)
			}
		}
	}
}

func TestMateInTwoIsProvenThroughTheReplies(t *testing.T) {
	// A ladder mate: 1.Rb7 and any reply, 2.Ra8.
	s := search(t, config(4000), nil, position(t, "6k1/8/8/8/8/8/1R6/R5K1 w - - 0 1"), uniform{}, nil)
	check(t, s)
	r := s.Root()
	if best := r.Moves[r.Best]; best.Proven != ProvenWin || best.M != 3 || r.Value.Q != 1 {
		t.Fatalf("best %+v, root %v %v", best, r.Proven, r.Value)
	}
}

func TestVisitsAreExactlyThoseAsked(t *testing.T) {
	for i, fen := range signaturePositions {
		for _, sims := range []int{1, 2, 32, 133} {
			cfg := config(sims)
			cfg.MaxBatch = 1 + i%4
			s := search(t, cfg, nil, position(t, fen), &HashEvaluator{}, seeded(uint64(i)))
			check(t, s)
			sum := uint32(0)
			for _, n := range visitsOf(s) {
				sum += n
			}
			if r := s.Root(); sum != uint32(sims) || r.N != sum+1 {
				t.Errorf("%s: asked %d, root %d, moves %d", fen, sims, r.N, sum)
			}
		}
	}
}

func TestSameSeedGivesTheSameTree(t *testing.T) {
	run := func(seed uint64) *Search {
		return search(t, config(300), NewCache(1000), position(t, signaturePositions[1]), &HashEvaluator{}, seeded(seed))
	}
	a, b, other := run(1), run(1), run(2)
	if !slices.Equal(a.t.nodes, b.t.nodes) || !slices.Equal(a.t.edges, b.t.edges) {
		t.Error("the same seed gave another tree")
	}
	if slices.Equal(a.t.edges, other.t.edges) {
		t.Error("another seed gave the same noise")
	}
}

func TestPositionAloneEqualsPositionInABatch(t *testing.T) {
	const sims = 200
	searches := make([]*Search, len(signaturePositions))
	cache := NewCache(500)
	for i, fen := range signaturePositions {
		searches[i] = New(config(sims), cache)
		searches[i].Reset(position(t, fen))
		searches[i].Begin(seeded(uint64(i)), true)
	}
	runAll(searches, &HashEvaluator{}, encoding.NewBatch(len(searches)))
	for i, fen := range signaturePositions {
		alone := search(t, config(sims), nil, position(t, fen), &HashEvaluator{}, seeded(uint64(i)))
		if !slices.Equal(alone.t.nodes, searches[i].t.nodes) || !slices.Equal(alone.t.edges, searches[i].t.edges) {
			t.Errorf("%s: the tree depends on the batch or the cache", fen)
		}
	}
}

func TestManyLeavesAtOnce(t *testing.T) {
	cfg := config(500)
	s := New(cfg, nil)
	s.Begin(nil, false)
	b := encoding.NewBatch(16)
	largest := 0
	for !s.Done() {
		b.Reset()
		n := s.Gather(b, 16)
		if n != b.N || n != len(s.waiting) {
			t.Fatalf("gathered %d, batch %d, waiting %d", n, b.N, len(s.waiting))
		}
		largest = max(largest, n)
		if err := (&HashEvaluator{}).Evaluate(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		s.Apply(b)
		check(t, s)
	}
	if largest < 8 {
		t.Errorf("never more than %d leaves waited", largest)
	}
	if n := s.Root().N; n != 501 {
		t.Errorf("root has %d visits", n)
	}
}

// A node may be proven while another leaf below it waits.
func TestManyLeavesAtOnceWithProofs(t *testing.T) {
	proven := 0
	for _, fen := range []string{"6k1/8/8/8/8/8/1R6/R5K1 w - - 0 1", "4r1k1/5ppp/8/8/8/8/N4PPP/7K w - - 0 1", signaturePositions[19]} {
		for _, batch := range []int{2, 7, 32} {
			cfg := config(2000)
			cfg.MaxBatch = batch
			s := search(t, cfg, nil, position(t, fen), uniform{}, nil)
			check(t, s)
			for i := range s.t.nodes {
				if n := &s.t.nodes[i]; n.kind == kindExpanded && n.proven != Unproven {
					proven++
				}
			}
		}
	}
	if proven < 15 {
		t.Errorf("only %d nodes were proven", proven)
	}
}

func TestCountsAreOfEverySimulation(t *testing.T) {
	cache := NewCache(3000)
	s := New(config(400), cache)
	var visits uint64
	for _, fen := range signaturePositions {
		s.Reset(position(t, fen))
		s.Begin(nil, false)
		finish(t, s, &HashEvaluator{}, 3)
		visits += uint64(s.Root().N)
		if c := s.Counts(); c.Sum() != visits || c.Expanded == 0 || c.DepthSum < visits-uint64(len(signaturePositions)) {
			t.Fatalf("%s: %+v of %d visits", fen, c, visits)
		}
	}
	c := s.Counts()
	if hits, misses := cache.Counts(); hits != c.Cached || misses != c.Expanded || c.Terminal == 0 {
		t.Errorf("%+v, the cache has %d hits and %d misses", c, hits, misses)
	}
	s.Reset(position(t, signaturePositions[0], "a2a4", "a7a5", "h2h4"))
	s.BeginWith(nil, Options{Limits: Limits{Playouts: 10}})
	s.Gather(encoding.NewBatch(1), 1)
	waits := len(s.waiting) > 0
	before := s.Counts().Sum()
	s.Cancel()
	if after := s.Counts().Sum(); !waits || after != before {
		t.Errorf("a cancelled leaf was counted: %d, then %d; waiting %v", before, after, waits)
	}
	// In the start position with one visit the depths are 0 and 1.
	s = search(t, config(1), nil, position(t, signaturePositions[0]), &HashEvaluator{}, nil)
	if c := s.Counts(); c != (Counts{Expanded: 2, DepthSum: 1}) {
		t.Errorf("%+v", c)
	}
}

func TestCancelLeavesNoTrace(t *testing.T) {
	s := search(t, config(50), nil, position(t, signaturePositions[0]), &HashEvaluator{}, nil)
	before := visitsOf(s)
	s.BeginWith(nil, Options{Limits: Limits{Playouts: 100}})
	b := encoding.NewBatch(8)
	if s.Gather(b, 8) == 0 || len(s.waiting) == 0 {
		t.Fatal("nothing waits")
	}
	s.Cancel()
	check(t, s)
	if !slices.Equal(before, visitsOf(s)) || len(s.waiting) != 0 {
		t.Error("cancelled leaves were counted")
	}
	finish(t, s, &HashEvaluator{}, 3)
	check(t, s)
	if n := s.Root().N; n != 151 {
		t.Errorf("root has %d visits, want 51 and 100 new ones", n)
	}
}

func TestTreeReuse(t *testing.T) {
	for _, fen := range signaturePositions[:12] {
		s := New(config(150), nil)
		s.Reset(position(t, fen))
		rng := rand.New(rand.NewPCG(3, 4))
		for range 12 {
			s.Begin(rng, true)
			if s.over != chess.NotOver {
				break
			}
			kept := s.Root().N
			finish(t, s, &HashEvaluator{}, 1)
			check(t, s)
			r := s.Root()
			if r.N != max(151, kept) {
				t.Fatalf("%s: %d visits, %d were kept", fen, r.N, kept)
			}
			best := r.Moves[r.Best]
			s.Advance(best.Move)
			check(t, s)
			if n := s.Root().N; n > best.N {
				t.Fatalf("%s: the move had %d visits, as root it has %d", fen, best.N, n)
			} else if best.Proven == Unproven && n+20 < best.N && !s.cfg.TwofoldDraw {
				t.Fatalf("%s: of %d visits only %d were kept", fen, best.N, n)
			}
		}
	}
}

func TestReusedRootWithEnoughVisitsGetsOnlyNoise(t *testing.T) {
	s := search(t, config(400), nil, position(t, signaturePositions[11]), &HashEvaluator{}, nil)
	r := s.Root()
	s.Advance(r.Moves[r.Best].Move)
	s.cfg.Simulations = 5
	before := visitsOf(s)
	if s.Root().N < 7 {
		t.Fatalf("only %d visits kept", s.Root().N)
	}
	s.Begin(seeded(1), true)
	if !s.Done() || !slices.Equal(before, visitsOf(s)) {
		t.Error("visits were added beyond those asked")
	}
	differs := false
	for k, e := range s.t.edgesOf(&s.t.nodes[0]) {
		differs = differs || e.prior != s.rootPrior[k]
	}
	if !differs {
		t.Error("the reused root has no fresh noise")
	}
}

func TestSearchOfAFinishedGame(t *testing.T) {
	s := New(config(10), nil)
	s.Reset(position(t, "7k/6Q1/5K2/8/8/8/8/8 b - - 0 1"))
	s.Begin(nil, false)
	r := s.Root()
	if !s.Done() || r.Over != chess.Checkmate || r.Best != -1 || len(r.Moves) != 0 {
		t.Errorf("done %v, %+v", s.Done(), r)
	}
	if n := s.Gather(encoding.NewBatch(1), 1); n != 0 {
		t.Errorf("%d rows of a finished game", n)
	}
}

func TestMaxNodesBoundsTheTree(t *testing.T) {
	cfg := config(0)
	cfg.MaxNodes = 100
	s := search(t, cfg, nil, position(t, signaturePositions[0]), &HashEvaluator{}, nil)
	check(t, s)
	if n := len(s.t.nodes); n != 100 {
		t.Errorf("%d nodes", n)
	}
}

func TestPVIsALegalLine(t *testing.T) {
	for _, fen := range signaturePositions {
		h := position(t, fen)
		s := search(t, config(500), nil, h, &HashEvaluator{}, nil)
		pv := s.PVOf(nil, s.Root().Best)
		if r := s.Root(); len(pv) < 2 && r.Moves[r.Best].Proven == Unproven || pv[0] != r.Moves[r.Best].Move {
			t.Errorf("%s: PV %v", fen, pv)
		}
		for _, m := range pv {
			var l chess.MoveList
			h.Board().GenerateMoves(&l)
			if !slices.Contains(l.Slice(), m) {
				t.Fatalf("%s: %v in %v is not legal", fen, m, pv)
			}
			h.Push(m)
		}
	}
}

func TestDropTreeKeepsTheLine(t *testing.T) {
	s := search(t, config(50), nil, position(t, signaturePositions[0], "e2e4", "e7e5"), &HashEvaluator{}, nil)
	s.DropTree()
	if r := s.Root(); r.N != 0 || len(r.Moves) != 29 || s.History().Len() != 3 || s.Done() {
		t.Errorf("%d visits, %d moves, %d boards", r.N, len(r.Moves), s.History().Len())
	}
}

func TestSignature(t *testing.T) {
	const golden = 0x21b780986babf09b // changes only when the search is meant to change
	if got := Signature(); got != golden {
		t.Errorf("signature %#x, want %#x", got, uint64(golden))
	}
}
