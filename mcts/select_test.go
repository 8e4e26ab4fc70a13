package mcts

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// slowC is the exploration constant at a node.
func slowC(s *Search, n *node) float64 {
	usual := s.cfg.CPUCTStdev
	if usual == 0 || n.proven != Unproven {
		return s.cfg.CPUCT
	}
	visits, mean := float64(n.n), n.w/float64(n.n)
	variance := (visits*(float64(n.extra)-mean*mean) + 2*usual*usual) / (visits + 2)
	return s.cfg.CPUCT * (1 + 0.85*(math.Sqrt(variance)/usual-1))
}

// slowSelect is the definition: every move scored in float64, no early cut;
// beside the choices.
func slowSelect(s *Search, i int32) []float64 {
	n := &s.t.nodes[i]
	choices, edges := s.t.choicesOf(n), s.t.edgesOf(n)
	parent, visited := 0.0, 0.0
	for _, e := range edges {
		parent += float64(e.n)
		if e.n > 0 {
			visited += float64(e.prior)
		}
	}
	parent = math.Max(parent, 1)
	scores := make([]float64, len(choices))
	for k, choice := range choices {
		q, visits := n.w/float64(n.n)-s.cfg.FPUReduction*math.Sqrt(visited), 0.0
		if k < len(edges) && edges[k].n > 0 {
			q, visits = float64(edges[k].q), float64(edges[k].n)
		}
		scores[k] = q + slowC(s, n)*float64(choice.prior)*math.Sqrt(parent)/(1+visits)
	}
	return scores
}

func TestSelectionFollowsTheFormula(t *testing.T) {
	for _, stdev := range []float64{0, 0.4} {
		cfg := config(600)
		cfg.CPUCTStdev = stdev
		checkSelections(t, search(t, cfg, nil, position(t, signaturePositions[1]), &HashEvaluator{}, nil))
	}
}

// checkSelections compares what is selected below the root, once all is done, with the definition.
func checkSelections(t *testing.T, s *Search) {
	t.Helper()
	for i := 1; i < len(s.t.nodes); i++ {
		n := &s.t.nodes[i]
		if n.kind != kindExpanded || n.proven != Unproven {
			continue
		}
		scores := slowSelect(s, int32(i))
		k := s.selectEdge(int32(i)) // may reorder the choices that are no edges
		move := s.t.edgesOf(n)[k].move
		after := slowSelect(s, int32(i))
		if best := slices.Max(scores); best-after[k] > 1e-5 { // float32 against float64
			t.Fatalf("node %d: %v has score %v, the best is %v", i, move, after[k], best)
		}
	}
}

func TestRootSelectionFollowsTheFormula(t *testing.T) {
	for i, fen := range signaturePositions {
		for _, noise := range []bool{false, true} {
			cfg := config(100)
			cfg.RootFPUReduction, cfg.NoisyFPU = 0.5, 0.1
			s := New(cfg, nil)
			s.Reset(position(t, fen))
			s.Begin(seeded(uint64(i)), noise)
			finish(t, s, &HashEvaluator{}, 1)
			n := &s.t.nodes[0]
			edges := s.t.edgesOf(n)
			if s.mate >= 0 && edges[s.mate].n == 0 {
				t.Fatalf("%s: the mate is not visited", fen)
			}
			reduction, visited := 0.5, 0.0
			if noise {
				reduction = 0.1
			}
			for k, e := range edges {
				if want := float64(e.prior); noise {
					want = 0.75*want + 0.25*s.noise[k]
					if math.Abs(float64(s.rootPrior[k])-want) > 1e-6 {
						t.Fatalf("%s: prior %v with noise %v, want %v", fen, s.rootPrior[k], s.noise[k], want)
					}
				} else if s.rootPrior[k] != e.prior {
					t.Fatalf("%s: prior %v without noise, want %v", fen, s.rootPrior[k], want)
				}
				if e.n > 0 {
					visited += float64(s.rootPrior[k])
				}
			}
			score := func(k int) float64 {
				e := edges[k]
				q := n.w/float64(n.n) - reduction*math.Sqrt(visited)
				if e.n > 0 {
					q = float64(e.q)
				}
				return q + 1.5*float64(s.rootPrior[k])*10/(1+float64(e.n)) // sqrt(100)
			}
			best := math.Inf(-1)
			for k := range edges {
				best = math.Max(best, score(k))
			}
			if k := s.selectRoot(); best-score(k) > 1e-5 {
				t.Errorf("%s, noise %v: move %d has score %v, the best is %v", fen, noise, k, score(k), best)
			}
		}
	}
}

// A node that is not proven has the mean of the squares of all values below it.
func TestSquares(t *testing.T) {
	s := search(t, config(600), nil, position(t, signaturePositions[0]), &HashEvaluator{}, nil)
	for i := range s.t.nodes {
		n := &s.t.nodes[i]
		if n.kind != kindExpanded || n.proven != Unproven {
			continue
		}
		want := float64(n.rawQ) * float64(n.rawQ)
		for _, e := range s.t.edgesOf(n) {
			if e.n > 0 {
				c := &s.t.nodes[e.child]
				if c.proven != Unproven {
					t.Fatalf("node %d is proven: another position is needed here", e.child)
				}
				want += float64(e.n) * float64(c.extra)
			}
		}
		if want /= float64(n.n); math.Abs(float64(n.extra)-want) > 1e-5 || i == 0 && want == 0 {
			t.Fatalf("node %d of %d visits: %v, want %v", i, n.n, n.extra, want)
		}
	}
}

func TestVisitedEdgesAreAPrefixByPrior(t *testing.T) {
	s := search(t, config(600), nil, position(t, signaturePositions[0]), &HashEvaluator{}, nil)
	for i := 1; i < len(s.t.nodes); i++ {
		n := &s.t.nodes[i]
		edges, choices := s.t.edgesOf(n), s.t.choicesOf(n)
		for k, e := range edges {
			if k > 0 && e.prior > edges[k-1].prior {
				t.Fatalf("node %d: edges %d and %d are out of order", i, k-1, k)
			}
			if c := choices[k]; c.prior != e.prior || c.move != e.move || c.index != e.index {
				t.Fatalf("node %d: edge %d is %+v, the choice %+v", i, k, e, c)
			}
		}
		for k := len(edges); k < len(choices); k++ {
			if len(edges) > 0 && choices[k].prior > edges[len(edges)-1].prior {
				t.Fatalf("node %d: choice %d of %d edges: %+v", i, k, len(edges), choices[k])
			}
		}
	}
}

func TestExplorationForms(t *testing.T) {
	flat := newPUCT(&Config{CPUCT: 1.5})
	log := newPUCT(&Config{CPUCTForm: CPUCTLog, CPUCT: 1.745, CPUCTBase: 38739, CPUCTFactor: 3.894})
	for _, n := range []uint32{0, 1, 2, 100, 40000, 4000000} {
		N := math.Max(float64(n), 1)
		if got, want := float64(flat.exploration(n)), 1.5*math.Sqrt(N); math.Abs(got-want) > 1e-6*want {
			t.Errorf("flat, N %d: %v, want %v", n, got, want)
		}
		want := (1.745 + 3.894*math.Log((N+38739)/38739)) * math.Sqrt(N)
		if got := float64(log.exploration(n)); math.Abs(got-want) > 1e-6*want {
			t.Errorf("log, N %d: %v, want %v", n, got, want)
		}
	}
}

func TestFPU(t *testing.T) {
	reduced := newPUCT(&Config{FPUReduction: 0.33})
	if got := reduced.unvisited(reduced.fpu, 0.5, 0.25); math.Abs(float64(got)-(0.5-0.33*0.5)) > 1e-6 {
		t.Errorf("reduced: %v", got)
	}
	absolute := newPUCT(&Config{FPUForm: FPUAbsolute, FPUValue: -1})
	if got := absolute.unvisited(absolute.rootFPU, 0.5, 0.25); got != -1 {
		t.Errorf("absolute: %v", got)
	}
	// An absolute value of +1 makes the search try every root move before it repeats one.
	cfg := config(20)
	cfg.FPUForm, cfg.FPUValue = FPUAbsolute, 1
	s := search(t, cfg, nil, position(t, signaturePositions[0]), &HashEvaluator{}, nil)
	for i, n := range visitsOf(s) {
		if n != 1 {
			t.Errorf("move %d has %d visits", i, n)
		}
	}
}

func TestMovesLeftPrefersTheShorterWin(t *testing.T) {
	cfg := config(1)
	cfg.MovesLeft = MovesLeftConfig{MaxEffect: 0.2, Slope: 0.01, Threshold: 0.5}
	s := New(cfg, nil)
	s.puct = newPUCT(cfg)
	s.t.addNode()
	parent := node{m: 40, n: 1}
	s.t.nodes[1] = node{m: 30, n: 1}
	if v := s.movesLeft(&parent, &edge{q: 0.9, n: 1, child: 1}); v <= 0 {
		t.Errorf("a shorter win is worth %v", v)
	}
	if v := s.movesLeft(&parent, &edge{q: -0.9, n: 1, child: 1}); v >= 0 {
		t.Errorf("a shorter loss is worth %v", v)
	}
	if v := s.movesLeft(&parent, &edge{q: 0.4, n: 1, child: 1}); v != 0 {
		t.Errorf("below the threshold: %v", v)
	}
}

// soon answers that white wins, or black, the sooner the fewer pawns there are.
type soon struct{ white bool }

func (w soon) Evaluate(_ context.Context, b *encoding.Batch) error {
	for i := range b.N {
		prior := b.PriorOf(i)
		for k := range prior {
			prior[k] = 1 / float32(len(prior))
		}
		b.WDL[i] = [3]float32{0, 0.1, 0.9}
		if (b.Scalars[i].BlackToMove == 0) == w.white {
			b.WDL[i] = [3]float32{0.9, 0.1, 0}
		}
		b.M[i] = float32(20 + 10*bits.OnesCount64(b.Masks[i][0]|b.Masks[i][6]))
	}
	return nil
}

func TestMovesLeftSteersTheSearch(t *testing.T) {
	// A winning queen may take a pawn, after which the win is nearer.
	fen := "7k/8/8/3p4/8/8/p2Q4/K7 w - - 0 1"
	for _, tc := range []struct {
		white bool
		want  bool // the capture that shortens the game is the most visited move
	}{{true, true}, {false, false}} {
		cfg := config(200)
		cfg.MovesLeft = MovesLeftConfig{MaxEffect: 0.3, Slope: 0.02, Threshold: 0.5}
		s := search(t, cfg, nil, position(t, fen), soon{tc.white}, nil)
		check(t, s)
		r := s.Root()
		var captures, others, n uint32
		for _, m := range r.Moves {
			if uci := s.h.Board().UCI(m.Move, false); uci == "d2d5" || uci == "d2a2" || uci == "a1a2" {
				captures += m.N
			} else {
				others, n = others+m.N, n+1
			}
		}
		if more := captures*n > others*3; more != tc.want {
			t.Errorf("winning %v: %d visits of three captures, %d of %d other moves", tc.white, captures, others, n)
		}
		cfg.MovesLeft.MaxEffect = 0
		flat := search(t, cfg, nil, position(t, fen), soon{tc.white}, nil).Root()
		least, most := uint32(math.MaxUint32), uint32(0)
		for _, m := range flat.Moves {
			least, most = min(least, m.N), max(most, m.N)
		}
		if most > 3*least {
			t.Errorf("without the effect the moves have %d to %d visits", least, most)
		}
	}
}

func TestBestMove(t *testing.T) {
	for _, tc := range []struct {
		name  string
		moves []MoveStats
		want  int
	}{
		{"most visits", []MoveStats{{N: 3, Q: 0.9}, {N: 5, Q: 0.1}}, 1},
		{"equal visits: Q", []MoveStats{{N: 5, Q: 0.1}, {N: 5, Q: 0.2}}, 1},
		{"equal visits and Q: prior", []MoveStats{{N: 5, P: 0.1}, {N: 5, P: 0.2}}, 1},
		{"all equal: the first", []MoveStats{{N: 5}, {N: 5}}, 0},
		{"a proven win first", []MoveStats{{N: 50, Q: 0.9}, {N: 1, Q: 1, Proven: ProvenWin}}, 1},
		{"the shorter win", []MoveStats{{N: 50, M: 5, Proven: ProvenWin}, {N: 1, M: 3, Proven: ProvenWin}}, 1},
		{"no proven loss", []MoveStats{{N: 50, Q: -1, Proven: ProvenLoss}, {N: 0}}, 1},
		{"the longer loss", []MoveStats{{N: 50, M: 3, Proven: ProvenLoss}, {N: 1, M: 5, Proven: ProvenLoss}}, 1},
	} {
		if got := bestMove(tc.moves, nil); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// The move that PUCT is surest of, against the definition: every node read in float64.
func TestSurest(t *testing.T) {
	other := 0
	for k, fen := range signaturePositions {
		for _, simulations := range []int{1, 2, 30, 400} {
			cfg := config(simulations)
			cfg.LCB = 3
			s := search(t, cfg, nil, position(t, fen), &HashEvaluator{}, nil)
			r := s.Root()
			want, highest := bestMove(r.Moves, nil), math.Inf(-1)
			most := r.Moves[want]
			for _, e := range s.t.edgesOf(&s.t.nodes[0]) {
				if most.Proven != Unproven || most.N == 0 || e.proven != Unproven || float64(e.n) < 0.15*float64(most.N) {
					continue
				}
				c := &s.t.nodes[e.child]
				n, mean := float64(c.n), c.w/float64(c.n)
				variance := (n*max(0, float64(c.extra)-mean*mean) + 2*0.16) / (n + 2)
				if bound := float64(e.q) - 3*math.Sqrt(variance/float64(e.n)); bound > highest {
					want, highest = int(e.index), bound
				}
			}
			if r.Best != want {
				t.Errorf("position %d, %d simulations: move %d, want %d", k, simulations, r.Best, want)
			}
			if want != bestMove(r.Moves, nil) {
				other++
			}
		}
	}
	if other == 0 {
		t.Error("it is the most visited move everywhere")
	}
	for _, tc := range []struct {
		name  string
		moves []MoveStats
		want  int
	}{
		{"few visits say little", []MoveStats{{N: 100, Q: 0.1, variance: 0.04}, {N: 20, Q: 0.15, variance: 0.04}}, 0},
		{"surely better", []MoveStats{{N: 100, Q: 0.1, variance: 0.04}, {N: 20, Q: 0.3, variance: 0.01}}, 1},
		{"too few visits", []MoveStats{{N: 100, Q: 0.1, variance: 0.04}, {N: 14, Q: 0.9}}, 0},
		{"less sure of the most visited", []MoveStats{{N: 100, Q: 0.1, variance: 0.5}, {N: 90, Q: 0.1, variance: 0.01}}, 1},
		{"a proven draw", []MoveStats{{N: 100, Q: -0.5, variance: 0.04}, {N: 90, Proven: ProvenDraw}}, 0},
		{"a proven move to play", []MoveStats{{N: 100, Proven: ProvenDraw}, {N: 90, Q: 0.1}}, 0},
		{"nothing is known", []MoveStats{{P: 0.5}, {P: 0.5}}, 0},
	} {
		if got := surest(tc.moves, nil, bestMove(tc.moves, nil), 3); got != tc.want {
			t.Errorf("%s: move %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestDirichletMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, alpha := range []float64{0.03, 0.3, 1, 2.5} {
		const k, rounds = 20, 4000
		var sample [k]float64
		var sum, square float64
		for range rounds {
			dirichlet(sample[:], alpha, rng)
			total := 0.0
			for _, x := range sample {
				if !(x >= 0 && x <= 1) {
					t.Fatalf("alpha %v: %v", alpha, x)
				}
				total += x
				square += x * x
			}
			if math.Abs(total-1) > 1e-9 {
				t.Fatalf("alpha %v: sums to %v", alpha, total)
			}
			sum += sample[0]
		}
		// E[x] = 1/k and E[x^2] = (alpha+1) / (k (k alpha+1)); tolerances of five standard errors.
		wantSquare := (alpha + 1) / (k * (k*alpha + 1))
		if got := square / (k * rounds); math.Abs(got/wantSquare-1) > 0.05 {
			t.Errorf("alpha %v: E[x^2] = %v, want %v", alpha, got, wantSquare)
		}
		if got, se := sum/rounds, math.Sqrt(wantSquare/rounds); math.Abs(got-1.0/k) > 5*se {
			t.Errorf("alpha %v: E[x] = %v", alpha, got)
		}
	}
	var tiny [8]float64
	dirichlet(tiny[:], 1e-5, rng) // underflow must not give NaN
	for _, x := range tiny {
		if !(x >= 0 && x <= 1) {
			t.Errorf("tiny alpha: %v", tiny)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	good := DefaultConfig()
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"simulations": func(c *Config) { c.Simulations = -1 },
		"cpuct":       func(c *Config) { c.CPUCT = math.NaN() },
		"epsilon":     func(c *Config) { c.NoiseEpsilon = 1.1 },
		"alpha":       func(c *Config) { c.NoiseAlpha = 0 },
		"base":        func(c *Config) { c.CPUCTForm, c.CPUCTBase = CPUCTLog, 0 },
		"form":        func(c *Config) { c.FPUForm = 7 },
		"forced":      func(c *Config) { c.ForcedPlayouts = -1 },
		"candidates":  func(c *Config) { c.Gumbel = GumbelConfig{Enabled: true} },
		"value scale": func(c *Config) { c.Gumbel.ValueScale = math.NaN() },
		"kld gain":    func(c *Config) { c.Stop.KLDGain = -1 },
	} {
		c := DefaultConfig()
		change(&c)
		if c.Validate() == nil {
			t.Errorf("%s: a bad value passed", name)
		}
	}
}

func TestColourFlipGivesTheSameTree(t *testing.T) {
	for _, pair := range [][2]string{
		{"6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "3r2k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1"},
		{"8/k1P5/8/1K6/8/8/8/8 w - - 0 1", "8/8/8/8/1k6/8/K1p5/8 b - - 0 1"},
	} {
		white := search(t, config(300), nil, position(t, pair[0]), uniform{}, seeded(5))
		black := search(t, config(300), nil, position(t, pair[1]), uniform{}, seeded(5))
		if !slices.Equal(white.t.nodes, black.t.nodes) || !slices.Equal(white.t.edges, black.t.edges) {
			t.Errorf("%s and its mirror image differ", pair[0])
		}
	}
}
