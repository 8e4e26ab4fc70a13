package selfplay

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

func TestPoolsChangeNoGame(t *testing.T) {
	play := func(change func(*WorkerConfig)) map[uint64]*record.Game {
		sink := new(collector)
		cfg := worker(sink, NewTickets(0, 24))
		cfg.Game = stopGame(true)
		change(&cfg)
		mustRun(t, cfg)
		games := sink.byOrdinal(t)
		if len(games) < 48 {
			t.Fatalf("%d games", len(games))
		}
		if s := cfg.Stats; s.GamesFinished.Load() != uint64(len(games)) || s.Evaluations.Load() == 0 || cfg.CacheEntries > 0 && s.CacheMisses.Load() != s.Evaluations.Load() {
			t.Errorf("%d games, %d cache misses, %d evaluations", s.GamesFinished.Load(), s.CacheMisses.Load(), s.Evaluations.Load())
		}
		return games
	}
	base := play(func(*WorkerConfig) {})
	for _, places := range []int{2, 3, 8, 17, 64} {
		for _, cache := range []int{0, 30, 2000} {
			sameGames(t, fmt.Sprintf("two pools of %d games with %d cache entries", places, cache), base, play(func(c *WorkerConfig) {
				c.Pools, c.Parallel, c.CacheEntries = 2, places, cache
			}))
		}
	}
}

// meeting is an evaluator for two games in two pools. While it works on a batch it
// waits until the worker can do no more without the answer, and then looks at the
// batch of the other pool.
type meeting struct {
	mcts.HashEvaluator
	t       *testing.T
	batches []*encoding.Batch // of the pools, in the order of their first evaluation
	last    [2]row            // what was evaluated last
	evals   int
	stop    context.CancelFunc
}

// row is the first position of a batch.
type row struct {
	masks   [encoding.NumMasks]uint64
	scalars encoding.Scalars
}

func (m *meeting) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if len(m.batches) < 2 && !slices.Contains(m.batches, b) {
		m.batches = append(m.batches, b)
	}
	own := slices.Index(m.batches, b)
	if own < 0 || b.N != 1 {
		m.t.Errorf("batch %d of the two has %d rows", own, b.N)
		return errors.New("another batch")
	}
	m.last[own] = row{b.Masks[0], b.Scalars[0]}
	synctest.Wait()
	if len(m.batches) == 2 && m.evals < 20 { // afterwards the worker may have left
		// In turns the rows are a1 b1 a2 b2: while a2 is evaluated b2 must be gathered.
		other := m.batches[1-own]
		if other.N != 1 || (row{other.Masks[0], other.Scalars[0]}) == m.last[1-own] {
			m.t.Errorf("evaluation %d: the other pool has not gone on", m.evals+1)
		}
	}
	if m.evals++; m.evals == 20 {
		m.stop()
	}
	return m.HashEvaluator.Evaluate(ctx, b)
}

func TestOnePoolWorksWhileTheOthersBatchIsEvaluated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		m := &meeting{t: t, stop: stop}
		cfg := worker(new(collector), NewTickets(0, 2))
		cfg.Parallel, cfg.Pools, cfg.CacheEntries = 2, 2, 0
		cfg.Game.Search.Simulations = 1000
		cfg.Nets = FixedNet{"meeting", m}
		if err := Run(ctx, cfg); !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		if m.evals < 20 || len(m.batches) != 2 {
			t.Errorf("%d evaluations of %d batches", m.evals, len(m.batches))
		}
	})
}

// exclusive is a net source whose evaluator notes when it is asked, swapped or
// left while it works.
type exclusive struct {
	mcts.HashEvaluator
	inside    atomic.Int32
	wrong     atomic.Int32
	asked     uint64
	swapEvery uint64
	evaluate  func(ctx context.Context) error // extra work; nil = none
}

func (e *exclusive) Current() Net {
	if e.inside.Load() != 0 {
		e.wrong.Add(1)
	}
	e.asked++
	e.Seed = e.asked / e.swapEvery // the same evaluator with other weights
	return Net{ID: fmt.Sprintf("net%d", e.Seed), Evaluator: e, Generation: e.Seed}
}

func (e *exclusive) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if e.inside.Add(1) != 1 {
		e.wrong.Add(1)
	}
	defer e.inside.Add(-1)
	if e.evaluate != nil {
		if err := e.evaluate(ctx); err != nil {
			return err
		}
	}
	return e.HashEvaluator.Evaluate(ctx, b)
}

// TestTwoPoolsTakeNewWeightsBetweenBatches holds that the net source is asked
// only while nobody evaluates, and that no answer of older weights is found in
// the cache.
func TestTwoPoolsTakeNewWeightsBetweenBatches(t *testing.T) {
	sink := new(collector)
	cfg := worker(sink, NewTickets(0, 60))
	cfg.Game.Openings, _ = NewOpenings(nil, OrderRandom, 1)
	cfg.Pools, cfg.Game.MaxPlies = 2, 20
	e := &exclusive{swapEvery: 400}
	cfg.Nets = e
	mustRun(t, cfg)
	changed, pure := 0, 0
	for ordinal, g := range sink.byOrdinal(t) {
		if g.Flags&record.NetChanged != 0 {
			changed++
			continue
		}
		pure++
		var seed uint64
		if _, err := fmt.Sscanf(g.NetID, "net%d", &seed); err != nil {
			t.Fatal(err)
		}
		alone := new(collector)
		one := cfg
		one.Pools, one.Parallel, one.Sink, one.Tickets, one.Stats = 1, 1, alone, NewList([]uint64{ordinal}), new(Stats)
		one.Nets = FixedNet{g.NetID, &mcts.HashEvaluator{Seed: seed}}
		mustRun(t, one)
		if moves(alone.games[0]) != moves(g) {
			t.Errorf("game %d of %s is not that net's own", ordinal, g.NetID)
		}
	}
	if e.wrong.Load() != 0 || changed == 0 || pure < 10 || cfg.Stats.NetChanges.Load() < 2 {
		t.Errorf("%d calls at a wrong time, %d games changed nets, %d did not, %d changes", e.wrong.Load(), changed, pure, cfg.Stats.NetChanges.Load())
	}
}

// TestTwoPoolsLeaveNobodyBehind holds that Run returns after its goroutine,
// whatever ends it. synctest fails if one is left.
func TestTwoPoolsLeaveNobodyBehind(t *testing.T) {
	for name, c := range map[string]struct {
		evaluate func(ctx context.Context, stop func()) error
		sink     Sink
		want     error
	}{
		"tickets used up": {nil, new(collector), nil},
		"stop while an evaluation is under way": {func(ctx context.Context, stop func()) error {
			stop()
			<-ctx.Done()
			return ctx.Err()
		}, new(collector), ErrStopped},
		"a stop that the evaluator does not heed": {func(ctx context.Context, stop func()) error {
			stop()
			return nil
		}, new(collector), ErrStopped},
		"a broken evaluator": {func(context.Context, func()) error { return errBroken }, new(collector), errBroken},
		"a broken sink":      {nil, full{}, errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				cfg := worker(c.sink, NewTickets(0, 12))
				cfg.Pools = 2
				e := &exclusive{swapEvery: 1 << 60}
				var batches int
				if c.evaluate != nil {
					e.evaluate = func(ctx context.Context) error {
						if batches++; batches < 25 {
							return nil
						}
						return c.evaluate(ctx, stop)
					}
				}
				cfg.Nets = e
				if err := Run(ctx, cfg); !errors.Is(err, c.want) {
					t.Errorf("%v", err)
				}
				if e.inside.Load() != 0 || e.wrong.Load() != 0 {
					t.Errorf("%d evaluations after the end, %d at a wrong time", e.inside.Load(), e.wrong.Load())
				}
			})
		})
	}
}

func TestPoolSettings(t *testing.T) {
	for _, c := range []struct {
		pools, parallel int
		ok              bool
	}{{0, 1, true}, {1, 1, true}, {2, 2, true}, {2, 1, false}, {3, 8, false}, {-1, 8, false}} {
		cfg := worker(new(collector), NewTickets(0, 1))
		cfg.Pools, cfg.Parallel = c.pools, c.parallel
		if err := cfg.Validate(); (err == nil) != c.ok {
			t.Errorf("%d pools of %d games: %v", c.pools, c.parallel, err)
		}
	}
}

// census is a net source that counts the heap's allocations between batches.
type census struct {
	stats       *Stats
	net         Net
	plies, heap uint64 // at the last call
	begun       uint64
	calm        int    // batches without a move or a new game
	calmAllocs  uint64 // allocations in them
	mem         runtime.MemStats
}

func (c *census) Current() Net {
	runtime.ReadMemStats(&c.mem)
	plies, begun := c.stats.Positions.Load(), c.stats.GamesStarted.Load()
	if plies == c.plies && begun == c.begun && c.heap != 0 {
		c.calm++
		c.calmAllocs += c.mem.Mallocs - c.heap
	}
	c.plies, c.begun = plies, begun
	c.heap = c.mem.Mallocs
	return c.net
}

// forgetful is a sink that keeps nothing.
type forgetful struct{}

func (forgetful) Put(context.Context, *record.Game) error { return nil }

// TestTheSteadyStateAllocatesRecordsOnly counts all allocations of a run whose
// memory has grown in an equal run before.
func TestTheSteadyStateAllocatesRecordsOnly(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector allocates a little for itself
	for _, pools := range []int{1, 2} {
		const games = 24
		cfg := worker(forgetful{}, nil)
		cfg.Pools, cfg.Game.Search.Simulations, cfg.Game.MaxPlies = pools, 20, 60
		c := &census{stats: cfg.Stats, net: Net{ID: "hash", Evaluator: &mcts.HashEvaluator{}}}
		cfg.Nets = c
		w, err := NewWorker(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var used, plies uint64
		for range 3 {
			w.cfg.Tickets = NewTickets(0, games)
			w.cache.Clear()
			*c = census{stats: c.stats, net: c.net}
			from, had := mallocs(), cfg.Stats.Positions.Load()
			if err := w.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			used, plies = mallocs()-from, cfg.Stats.Positions.Load()-had
		}
		// A ply's visit counts; a game's record and its list of plies, which grows
		// once or twice; the goroutine and the context's parts of a run.
		if most := plies + 8*games + 40; used < plies || used > most {
			t.Errorf("%d pools: %d allocations for %d plies of %d games, at most %d", pools, used, plies, games, most)
		}
		if c.calm < 100 || c.calmAllocs > 4 {
			t.Errorf("%d pools: %d allocations in %d batches in which no move was played", pools, c.calmAllocs, c.calm)
		}
	}
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
