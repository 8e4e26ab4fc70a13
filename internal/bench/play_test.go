package bench

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// playOptions asks for the least work.
func playOptions(evaluator string) PlayOptions {
	return PlayOptions{Evaluator: evaluator, Simulations: 6, Games: 3, Workers: 1, CacheEntries: 500, Duration: time.Nanosecond, Precision: "fp32"}
}

func TestPlayRefused(t *testing.T) {
	for _, c := range []struct {
		change func(o *PlayOptions)
		says   string
	}{
		{func(o *PlayOptions) { o.Evaluator = "oracle" }, `unknown evaluator "oracle", want constant, hash, net`},
		{func(o *PlayOptions) { o.Evaluator, o.Arch.Blocks = EvaluatorNet, o.Arch.Blocks[:1] }, "blocks is 0"},
		{func(o *PlayOptions) { o.Evaluator = ""; o.Arch.Blocks[0].Width = 0 }, "filters is 0"},
		{func(o *PlayOptions) { o.Simulations = 0 }, "0 simulations, want 1 to"},
		{func(o *PlayOptions) { o.Simulations = MaxSimulations + 1 }, "1048577 simulations"},
		{func(o *PlayOptions) { o.Games = 0 }, "0 games, want 1 to 4096"},
		{func(o *PlayOptions) { o.Games = MaxGames + 1 }, "4097 games"},
		{func(o *PlayOptions) { o.Workers = 0 }, "0 workers, want 1 to 256"},
		{func(o *PlayOptions) { o.CacheEntries = -1 }, "-1 cache entries"},
		{func(o *PlayOptions) { o.Games, o.Pools = 0, 2 }, "0 games"},
		{func(o *PlayOptions) { o.Precision = "fp8" }, `unknown precision "fp8"`},
		{func(o *PlayOptions) { o.Duration = -1 }, "duration -1ns"},
	} {
		o := playOptions(EvaluatorHash)
		o.Arch = nntest.Named("16x1")
		c.change(&o)
		_, err1 := Search(context.Background(), o)
		_, err2 := SelfPlay(context.Background(), o)
		for _, err := range []error{err1, err2} {
			if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v does not say %q", err, c.says)
			}
		}
	}
}

func TestConstantEvaluator(t *testing.T) {
	b := PositionBatch(5, 3)
	if err := (constant{}).Evaluate(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	for i := range b.N {
		for _, p := range b.PriorOf(i) {
			if p != 1/float32(len(b.PriorOf(i))) {
				t.Fatalf("position %d: prior %v of %d moves", i, p, len(b.PriorOf(i)))
			}
		}
		if b.WDL[i] != [3]float32{0.25, 0.5, 0.25} || b.M[i] != 40 {
			t.Errorf("position %d: %v, %v", i, b.WDL[i], b.M[i])
		}
	}
}

// TestPhases holds that the first games are in all phases, and that none is over.
func TestPhases(t *testing.T) {
	const n, maxPlies = 400, 100
	rng := rand.New(rand.NewPCG(5, 6))
	h := chess.NewHistory(chess.StartBoard())
	var moves chess.MoveList
	var tenths [10]int
	for range n {
		walk(h, rng, phasePlies, maxPlies, false)
		if overAt(h, &moves, maxPlies) {
			t.Fatalf("over: %s", h.Board().FEN())
		}
		tenths[(h.Len()-1)*len(tenths)/maxPlies]++
		if walk(h, rng, openingPlies, openingPlies, false); overAt(h, &moves, openingPlies) || h.Len() > openingPlies {
			t.Fatalf("opening of %d boards: %s", h.Len(), h.Board().FEN())
		}
	}
	// Nearly all random games are longer than maxPlies: a tenth each, with a
	// standard deviation of 6.
	for i, k := range tenths {
		if k < 15 || k > 70 {
			t.Errorf("%d of %d games are in tenth %d of a game: %v", k, n, i, tenths)
		}
	}
}

// TestStaggered: game k of the list of starts begins in the middle for k < n, and at
// the start from then on.
func TestStaggered(t *testing.T) {
	const n = 20
	o, err := staggered(n, 450)
	if err != nil {
		t.Fatal(err)
	}
	middle := 0
	for i, s := range o.Starts {
		if s.Board == chess.StartBoard() {
			continue
		}
		if middle++; i >= n {
			t.Fatalf("start %d is %s", i, s.Board.FEN())
		}
	}
	if middle < n*8/10 || len(o.Starts) != n*(1+laterGames) {
		t.Errorf("%d of %d starts are in the middle of a game", middle, len(o.Starts))
	}
}

// counting counts rows; a search that gets its answers must count the same nodes.
type counting struct {
	mcts.Evaluator
	rows *uint64
}

func (c counting) Evaluate(ctx context.Context, b *encoding.Batch) error {
	*c.rows += uint64(b.N)
	return c.Evaluator.Evaluate(ctx, b)
}

// TestLockstep holds the counters of trees in lock step against what the evaluator saw.
func TestLockstep(t *testing.T) {
	for _, cache := range []int{0, 2000} {
		o := playOptions(EvaluatorHash)
		o.Games, o.Simulations, o.CacheEntries = 8, 12, cache
		rows := uint64(0)
		g := newLockstep(&o, 0, counting{&mcts.HashEvaluator{}, &rows})
		g.cfg.MaxPlies = 20 // many games, whose first positions the cache knows
		const steps = 3000
		for range steps {
			if err := g.step(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		c := g.counts()
		if rows != steps*8 || c.Expanded != rows {
			t.Errorf("cache %d: %d rows in %d steps of 8 games, %d nodes", cache, rows, steps, c.Expanded)
		}
		if (c.Cached > 0) != (cache > 0) || c.Terminal == 0 || c.DepthSum == 0 {
			t.Errorf("cache %d: %+v", cache, c)
		}
		// A move takes 13 simulations at most, with those of the last under way.
		if least := c.Sum()/13 - 8; g.moves < least || g.moves > c.Sum() {
			t.Errorf("cache %d: %d moves of %d simulations, want %d at least", cache, g.moves, c.Sum(), least)
		}
	}
}

func TestLockstepDoesNotAllocate(t *testing.T) {
	o := playOptions(EvaluatorConstant)
	o.Games, o.Simulations = 4, 20
	g := newLockstep(&o, 0, constant{})
	step := func() {
		if err := g.step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for range 20000 {
		step()
	}
	if n := testing.AllocsPerRun(2000, step); n >= 0.5 {
		t.Errorf("%v allocations a step", n)
	}
}

func TestSearch(t *testing.T) {
	for _, evaluator := range []string{EvaluatorConstant, EvaluatorHash, EvaluatorNet} {
		for workers := 1; workers <= 2; workers++ {
			o := playOptions(evaluator)
			o.Workers, o.Arch = workers, nntest.Named("8x1")
			r, err := Search(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			net := ""
			if evaluator == EvaluatorNet {
				net = "8x1-se"
			}
			if r.Evaluator != evaluator || r.Workers != workers || r.Net != net || r.Simulations != 6 || r.Games != 3 || r.CacheEntries != 500 {
				t.Errorf("labels of %+v", r)
			}
			for _, v := range []float64{r.NodesPerCPUSecond, r.SlowestWindow, r.SimulationsPerCPUSecond, r.CPUSeconds, r.Seconds, r.MeanDepth} {
				if !(v > 0) || math.IsInf(v, 0) {
					t.Fatalf("%s: figures of %+v", evaluator, r)
				}
			}
			if r.Nodes < playWindows || r.SlowestWindow > r.NodesPerCPUSecond || r.FastestWindow < r.NodesPerCPUSecond {
				t.Errorf("%s: %+v", evaluator, r)
			}
		}
	}
}

func TestSearchSummary(t *testing.T) {
	o := playOptions(EvaluatorHash)
	o.Workers = 2
	marks := []mark{
		{at: 10 * time.Second, busy: 7 * time.Second, n: counts{nNodes: 100, nCached: 10, nTerminal: 5, nDepth: 50, nPlies: 1}, evaluator: time.Second},
		{at: 11 * time.Second, busy: 9 * time.Second, n: counts{nNodes: 300, nCached: 20, nTerminal: 25, nDepth: 900, nPlies: 2}, evaluator: 2 * time.Second},
		{at: 12 * time.Second, busy: 10 * time.Second, n: counts{nNodes: 700, nCached: 90, nTerminal: 45, nDepth: 2210, nPlies: 7}, evaluator: 3 * time.Second},
	}
	// 200 nodes in 2 s of CPU, then 400 in 1 s; 600 + 80 + 40 simulations in 3.
	want := SearchResult{
		PlayLabels: o.labels(), NodesPerCPUSecond: 250, SlowestWindow: 100, FastestWindow: 400, SimulationsPerCPUSecond: 240,
		MovesPerCPUSecond: 2, Nodes: 600, Cached: 80, Terminal: 40, Moves: 6, MeanDepth: 3, EvaluatorShare: 0.5, CPUSeconds: 3, Seconds: 2,
	}
	if r := summarizeSearch(&o, []window{{from: marks[0], to: marks[1]}, {from: marks[1], to: marks[2]}}); r != want {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
}

func TestSelfPlay(t *testing.T) {
	for _, evaluator := range []string{"", EvaluatorConstant, EvaluatorHash} {
		for workers := 1; workers <= 2; workers++ {
			o := playOptions(evaluator)
			o.Workers = workers
			if evaluator == "" {
				o.Net = nn.Init(nntest.Named("8x1"), 7)
			}
			r, err := SelfPlay(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			if evaluator == "" && (r.Net != "8x1-se" || r.Precision != "fp32" || r.Evaluator != EvaluatorNet || r.Tier != kernel.ActiveTier().String()) {
				t.Errorf("labels of %+v", r)
			}
			for _, v := range []float64{r.PositionsPerSecond, r.EvaluationsPerSecond, r.MovesPerCPUSecond, r.EvaluationsPerCPUSecond, r.EvaluationsPerMove, r.Seconds} {
				if !(v > 0) || math.IsInf(v, 0) {
					t.Fatalf("%q: figures of %+v", evaluator, r)
				}
			}
			if r.MeanBatch < 1 || r.MeanBatch > 3 || !(r.CacheHits >= 0 && r.CacheHits <= 1) || r.Moves < playWindows {
				t.Errorf("%q: figures of %+v", evaluator, r)
			}
			if net := evaluator == ""; (r.Ratio > 0) != net || (r.InferencePerCPUSecond > 0) != net || r.RatioLow > r.Ratio || r.RatioHigh < r.Ratio {
				t.Errorf("%q: inference in %+v", evaluator, r)
			}
		}
	}
}

// TestPools: with two pools a batch has half of the games.
func TestPools(t *testing.T) {
	o := playOptions("")
	o.Net, o.Games, o.Pools = nn.Init(nntest.Named("8x1"), 7), 5, 2
	r, err := SelfPlay(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Pools != 2 || r.MeanBatch < 1 || r.MeanBatch > 3 || !(r.Ratio > 0) {
		t.Errorf("%+v", r)
	}
	for games, pools := range map[int]int{1: 2, 5: 3} {
		o.Games, o.Pools = games, pools
		if _, err := SelfPlay(context.Background(), o); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "pools") {
			t.Errorf("%d pools of %d games: %v", pools, games, err)
		}
	}
}

func TestPlayCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := playOptions(EvaluatorHash)
	if _, err := SelfPlay(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("self-play: %v", err)
	}
	o.Evaluator, o.Arch, o.Workers = EvaluatorNet, nntest.Named("8x1"), 2
	if _, err := SelfPlay(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("two workers: %v", err)
	}
	o.Duration = time.Hour
	if _, err := Search(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("search: %v", err)
	}
}

func TestSelfPlaySummary(t *testing.T) {
	at := func(seconds int) time.Duration { return time.Duration(seconds) * time.Second }
	windows := []window{
		{ // 200 evaluations in 2 s of CPU; 100 boards in 0.5 s
			from: mark{at: at(0), busy: time.Second},
			to:   mark{at: at(4), busy: 3 * time.Second, evaluator: 3 * time.Second, n: counts{nPlies: 2, nEvaluations: 200, nBatches: 10, nHits: 50, nLookups: 250}},
			end:  mark{at: at(5), busy: 3500 * time.Millisecond, evaluator: 3 * time.Second, n: counts{nBoards: 100}},
		},
		{ // 400 in 2 s; 500 in 1 s
			from: mark{at: at(5), busy: 4 * time.Second, evaluator: 3 * time.Second, n: counts{nPlies: 2, nEvaluations: 200, nBatches: 10, nHits: 50, nLookups: 250, nBoards: 100}},
			to:   mark{at: at(9), busy: 6 * time.Second, evaluator: 5 * time.Second, n: counts{nPlies: 6, nEvaluations: 600, nBatches: 30, nHits: 150, nLookups: 750, nBoards: 100}},
			end:  mark{at: at(10), busy: 7 * time.Second, n: counts{nBoards: 600}},
		},
	}
	o := playOptions(EvaluatorHash)
	want := SelfPlayResult{
		PlayLabels: o.labels(), PositionsPerSecond: 0.75, EvaluationsPerSecond: 75, MovesPerCPUSecond: 1.5, EvaluationsPerCPUSecond: 150,
		EvaluationsPerMove: 100, Moves: 6, MeanBatch: 20, CacheHits: 0.2, EvaluatorShare: 0.625,
		InferencePerCPUSecond: 350, Ratio: 0.45, RatioLow: 0.4, RatioHigh: 0.5, CPUSeconds: 4, Seconds: 8,
	}
	if r := summarize(&o, windows); r != want {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
}

// TestBarrier lets goroutines meet many times: nobody is ever a round ahead.
func TestBarrier(t *testing.T) {
	const n, rounds = 4, 200
	b := barrier{n: n, open: make(chan struct{})}
	var wait sync.WaitGroup
	var round [n]int
	met := 0
	for i := range n {
		wait.Go(func() {
			for k := range rounds {
				round[i] = k
				ok := b.wait(context.Background(), func() {
					met++
					for j := range n {
						if round[j] != k {
							t.Errorf("goroutine %d is in round %d, another in %d", j, round[j], k)
						}
					}
				})
				if !ok {
					t.Errorf("round %d: the context has not ended", k)
				}
			}
		})
	}
	wait.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if met != rounds || b.wait(ctx, func() { t.Error("three are missing") }) {
		t.Errorf("met %d times, want %d", met, rounds)
	}
}

func TestBusyTime(t *testing.T) {
	before := busyTime()
	for x := 1.0; busyTime() == before; x += math.Sqrt(x) { // ends once the clock has moved
	}
	if d := busyTime() - before; d <= 0 || d > time.Minute {
		t.Errorf("%v of CPU time", d)
	}
}
