package selfplay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

func TestExactlyTheAskedGamesEachOnce(t *testing.T) {
	for _, tc := range []struct{ games, workers, parallel int }{{1, 1, 8}, {8, 1, 8}, {30, 1, 7}, {40, 4, 3}, {2, 5, 4}, {0, 2, 2}} {
		t.Run(fmt.Sprintf("%d games, %d workers", tc.games, tc.workers), func(t *testing.T) {
			sink, stats, tickets := new(collector), new(Stats), NewTickets(100, uint64(tc.games))
			cfgs := make([]WorkerConfig, tc.workers)
			for i := range cfgs {
				cfgs[i] = worker(sink, tickets)
				cfgs[i].Stats, cfgs[i].Parallel = stats, tc.parallel
			}
			if err := runAll(context.Background(), cfgs); err != nil {
				t.Fatal(err)
			}
			games := sink.byOrdinal(t)
			for i := range tc.games {
				if games[uint64(100+i)] == nil {
					t.Errorf("game %d is missing", 100+i)
				}
			}
			n := uint64(tc.games)
			if len(games) != tc.games || stats.GamesStarted.Load() != n || stats.GamesFinished.Load() != n || stats.GamesAbandoned.Load() != 0 {
				t.Errorf("%d games; started %d, finished %d, abandoned %d", len(games), stats.GamesStarted.Load(), stats.GamesFinished.Load(), stats.GamesAbandoned.Load())
			}
			checkStats(t, stats, games)
		})
	}
}

// checkStats holds the counters against the games.
func checkStats(t *testing.T, s *Stats, games map[uint64]*record.Game) {
	t.Helper()
	var plies, results, ends uint64
	for _, g := range games {
		plies += uint64(len(g.Plies))
	}
	results = s.WhiteWins.Load() + s.Draws.Load() + s.BlackWins.Load()
	for i := range s.Ends {
		ends += s.Ends[i].Load()
	}
	n := uint64(len(games))
	if s.Positions.Load() != plies || s.PliesOfFinished.Load() != plies || results != n || ends != n {
		t.Errorf("plies %d and %d of %d, results %d and ends %d of %d", s.Positions.Load(), s.PliesOfFinished.Load(), plies, results, ends, n)
	}
	if s.CacheMisses.Load() != s.Evaluations.Load() {
		t.Errorf("%d cache misses, %d evaluations", s.CacheMisses.Load(), s.Evaluations.Load())
	}
	if n >= 8 && (s.CacheHits.Load() == 0 || s.Batches.Load() == 0 || s.Visits.Load() < 5*plies/2) {
		t.Errorf("hits %d, batches %d, visits %d of %d plies", s.CacheHits.Load(), s.Batches.Load(), s.Visits.Load(), plies)
	}
}

func TestAGameDependsOnSeedOrdinalAndNetOnly(t *testing.T) {
	play := func(change func(*WorkerConfig)) map[uint64]*record.Game {
		sink := new(collector)
		cfg := worker(sink, NewTickets(0, 16))
		cfg.Game.Openings, _ = NewOpenings(nil, OrderRandom, 3)
		cfg.Game.Resign = Resign{Enabled: true, Q: -0.3, Plies: 2, PlayThrough: 0.5}
		change(&cfg)
		mustRun(t, cfg)
		return sink.byOrdinal(t)
	}
	base := play(func(*WorkerConfig) {})
	for name, change := range map[string]func(*WorkerConfig){
		"one game at a time": func(c *WorkerConfig) { c.Parallel = 1 },
		"another lock step":  func(c *WorkerConfig) { c.Parallel = 5 },
		"no cache":           func(c *WorkerConfig) { c.CacheEntries = 0 },
		"a tiny cache":       func(c *WorkerConfig) { c.CacheEntries = 30 },
		"another order": func(c *WorkerConfig) {
			c.Tickets = NewList([]uint64{3, 1, 15, 0, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})
		},
		"the same once again": func(*WorkerConfig) {},
	} {
		sameGames(t, name, base, play(change))
	}
	for name, change := range map[string]func(*WorkerConfig){
		"run seed": func(c *WorkerConfig) { c.RunSeed = 8 },
		"process":  func(c *WorkerConfig) { c.Process = 1 },
		"net":      func(c *WorkerConfig) { c.Nets = FixedNet{"hash", &mcts.HashEvaluator{Seed: 1}} },
	} {
		same := 0
		for ordinal, g := range play(change) {
			if moves(g) == moves(base[ordinal]) {
				same++
			}
		}
		if same > 0 {
			t.Errorf("another %s repeats %d games", name, same)
		}
	}
	if moves(base[0]) == moves(base[1]) {
		t.Error("two ordinals give one game")
	}
}

// moves returns a game's start and moves as text.
func moves(g *record.Game) string {
	s := g.Start
	for i := range g.Plies {
		s += fmt.Sprintf(" %d", g.Plies[i].Move)
	}
	return s
}

func TestBatchesAreFullAndShrinkOnlyAtTheTail(t *testing.T) {
	ev, sink := new(counting), new(collector)
	cfg := worker(sink, NewTickets(0, 20))
	cfg.CacheEntries = 0
	cfg.Nets = FixedNet{"hash", ev}
	mustRun(t, cfg)
	smaller := 0
	for i, n := range ev.sizes {
		if n == 0 || n > cfg.Parallel {
			t.Fatalf("batch %d has %d rows", i, n)
		}
		if n < cfg.Parallel {
			smaller++
		}
	}
	if smaller > len(ev.sizes)*2/3 {
		t.Errorf("%d of %d batches were not full", smaller, len(ev.sizes))
	}
	if last := ev.sizes[len(ev.sizes)-1]; last > 4 {
		t.Errorf("the last batch has %d rows", last)
	}
}

// swapper is a net source whose weights change after some batches.
type swapper struct {
	asked, every int
	nets         []*mcts.HashEvaluator
}

func (s *swapper) Current() Net {
	s.asked++
	gen := min(s.asked/s.every, len(s.nets)-1)
	return Net{ID: fmt.Sprintf("net%d", gen), Evaluator: s.nets[gen], Generation: uint64(gen)}
}

func TestNewWeightsReachRunningGames(t *testing.T) {
	sink := new(collector)
	cfg := worker(sink, NewTickets(0, 40))
	cfg.Nets = &swapper{every: 100, nets: []*mcts.HashEvaluator{{Seed: 1}, {Seed: 2}, {Seed: 3}}}
	mustRun(t, cfg)
	changed, ids := 0, map[string]int{}
	for _, g := range sink.byOrdinal(t) {
		ids[g.NetID]++
		if g.Flags&record.NetChanged != 0 {
			changed++
		}
	}
	if cfg.Stats.NetChanges.Load() != 2 || changed == 0 || changed > 16 || ids["net0"] == 0 || ids["net2"] == 0 {
		t.Errorf("%d changes, %d games marked, nets %v", cfg.Stats.NetChanges.Load(), changed, ids)
	}
	// Games of the last net alone are those that it would have played from the start.
	pure := new(collector)
	again := worker(pure, NewTickets(0, 40))
	again.Nets = FixedNet{"net2", &mcts.HashEvaluator{Seed: 3}}
	mustRun(t, again)
	all := pure.byOrdinal(t)
	for ordinal, g := range sink.byOrdinal(t) {
		if g.NetID == "net2" && moves(g) != moves(all[ordinal]) {
			t.Errorf("game %d remembers answers of older weights", ordinal)
		}
	}
}

func TestStopAbandonsUnfinishedGames(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	errUser := errors.New("asked to stop")
	sink := &collector{after: func(n int) {
		if n == 5 {
			cancel(errUser)
		}
	}}
	cfg := worker(sink, NewTickets(0, 1000))
	err := Run(ctx, cfg)
	if !errors.Is(err, ErrStopped) || !errors.Is(err, errUser) {
		t.Fatalf("error %v", err)
	}
	s := cfg.Stats
	if got := uint64(len(sink.byOrdinal(t))); got != s.GamesFinished.Load() || s.GamesStarted.Load() != got+s.GamesAbandoned.Load() || s.GamesAbandoned.Load() == 0 {
		t.Errorf("got %d; started %d, finished %d, abandoned %d", got, s.GamesStarted.Load(), s.GamesFinished.Load(), s.GamesAbandoned.Load())
	}
	// What was abandoned is played by whoever takes the ordinals next.
	var missing []uint64
	have := sink.byOrdinal(t)
	for i := range uint64(12) {
		if have[i] == nil {
			missing = append(missing, i)
		}
	}
	sink.after = nil
	cfg.Tickets = NewList(missing)
	mustRun(t, cfg)
	whole := new(collector)
	mustRun(t, worker(whole, NewTickets(0, 12)))
	resumed := sink.byOrdinal(t)
	for ordinal := range resumed {
		if ordinal >= 12 {
			delete(resumed, ordinal)
		}
	}
	sameGames(t, "a stop", whole.byOrdinal(t), resumed)
}

func TestErrorsStopTheWorker(t *testing.T) {
	cfg := worker(new(collector), NewTickets(0, 10))
	cfg.Nets = FixedNet{"hash", &failing{left: 20}}
	if err := Run(context.Background(), cfg); !errors.Is(err, errBroken) || errors.Is(err, ErrStopped) {
		t.Errorf("a broken evaluator: %v", err)
	}
	cfg = worker(full{}, NewTickets(0, 10))
	if err := Run(context.Background(), cfg); !errors.Is(err, errBroken) {
		t.Errorf("a broken sink: %v", err)
	}
	good := worker(new(collector), NewTickets(0, 1000))
	bad := worker(new(collector), NewTickets(0, 1000))
	bad.Nets = FixedNet{"hash", &failing{left: 20}}
	if err := runAll(context.Background(), []WorkerConfig{good, bad}); !errors.Is(err, errBroken) {
		t.Errorf("one worker of two broken: %v", err)
	}
	for _, change := range []func(*WorkerConfig){
		func(c *WorkerConfig) { c.Parallel = 0 },
		func(c *WorkerConfig) { c.Sink = nil },
		func(c *WorkerConfig) { c.Game.Search.Simulations = 0 },
		func(c *WorkerConfig) { c.Game.Resign = Resign{Enabled: true} },
		func(c *WorkerConfig) { c.Game.Openings = &Openings{} },
		func(c *WorkerConfig) { c.Game.ExplorationRate = math.NaN() },
	} {
		cfg := worker(new(collector), NewTickets(0, 1))
		change(&cfg)
		if Run(context.Background(), cfg) == nil {
			t.Errorf("bad settings were taken: %+v", cfg)
		}
	}
}

type full struct{}

func (full) Put(context.Context, *record.Game) error { return errBroken }

// wrong is an evaluator that spoils one answer.
type wrong struct {
	mcts.HashEvaluator
	spoil func(b *encoding.Batch)
}

func (w *wrong) Evaluate(ctx context.Context, b *encoding.Batch) error {
	err := w.HashEvaluator.Evaluate(ctx, b)
	w.spoil(b)
	return err
}

func TestUnusableAnswersAreRefused(t *testing.T) {
	nan := float32(math.NaN())
	for name, spoil := range map[string]func(b *encoding.Batch){
		"value NaN":      func(b *encoding.Batch) { b.WDL[b.N-1][0] = nan },
		"value sum":      func(b *encoding.Batch) { b.WDL[0] = [3]float32{1, 1, 1} },
		"value negative": func(b *encoding.Batch) { b.WDL[0] = [3]float32{1.5, 0, -0.5} },
		"moves left NaN": func(b *encoding.Batch) { b.M[0] = nan },
		"policy NaN":     func(b *encoding.Batch) { b.PriorOf(b.N - 1)[0] = nan },
		"policy zero":    func(b *encoding.Batch) { clear(b.PriorOf(0)) },
	} {
		sink := new(collector)
		cfg := worker(sink, NewTickets(0, 4))
		cfg.Nets = FixedNet{"hash", &wrong{spoil: spoil}}
		if err := Run(context.Background(), cfg); !errors.Is(err, ErrEvaluation) || len(sink.games) != 0 {
			t.Errorf("%s: %v, %d games", name, err, len(sink.games))
		}
	}
}

func TestTicketsAreHandedOutOnceUnderContention(t *testing.T) {
	for name, tickets := range map[string]Tickets{"counter": NewTickets(0, 1000), "list": NewList(upTo(1000))} {
		var seen [1000]atomic.Int32
		done := make(chan struct{})
		for range 4 {
			go func() {
				defer func() { done <- struct{}{} }()
				for {
					n, ok := tickets.Next(context.Background())
					if !ok {
						return
					}
					seen[n].Add(1)
				}
			}()
		}
		for range 4 {
			<-done
		}
		for i := range seen {
			if seen[i].Load() != 1 {
				t.Fatalf("%s: ordinal %d was handed out %d times", name, i, seen[i].Load())
			}
		}
	}
}

func upTo(n uint64) (s []uint64) {
	for i := range n {
		s = append(s, i)
	}
	return s
}

func BenchmarkSelfPlay(b *testing.B) {
	cfg := worker(new(collector), nil)
	cfg.Game = DefaultGameConfig()
	cfg.Parallel, cfg.CacheEntries = 64, 20000
	cfg.Tickets = NewTickets(0, uint64(b.N))
	b.ResetTimer()
	if err := Run(context.Background(), cfg); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(cfg.Stats.Positions.Load())/b.Elapsed().Seconds(), "positions/s")
	b.ReportMetric(float64(cfg.Stats.Visits.Load())/b.Elapsed().Seconds(), "visits/s")
	b.ReportMetric(float64(cfg.Stats.Evaluations.Load())/float64(cfg.Stats.Batches.Load()), "rows/batch")
}

func BenchmarkCheckAnswer(b *testing.B) {
	batch := encoding.NewBatch(64)
	for range 64 {
		row := batch.Grow(30)
		batch.Masks[row][0] = uint64(row)
	}
	if err := new(mcts.HashEvaluator).Evaluate(context.Background(), batch); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := checkAnswer(batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/position")
}
