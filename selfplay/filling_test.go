package selfplay

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// requests are tickets that are asked for in groups: the next group is free when
// all but rest games of the one before are finished. It is the sink, too.
type requests struct {
	collector
	size, rest    int
	groups        int // still to come
	free, handed  uint64
	asked, denied int
}

func (r *requests) Next(context.Context) (uint64, bool) {
	r.asked++
	if r.handed == r.free {
		r.denied++
		return 0, false
	}
	r.handed++
	return r.handed - 1, true
}

func (r *requests) Put(ctx context.Context, g *record.Game) error {
	err := r.collector.Put(ctx, g)
	if r.groups > 0 && len(r.games) >= int(r.free)-r.rest {
		r.groups--
		r.free += uint64(r.size)
	}
	return err
}

// TestTheNextRequestFillsTheBatches holds that a worker whose tickets refused it
// asks again while it has games, once a batch, and that its batches stay full
// for as long as enough games are wanted.
func TestTheNextRequestFillsTheBatches(t *testing.T) {
	for _, pools := range []int{1, 2} {
		r := &requests{size: 20, rest: 8, groups: 4, free: 20}
		ev := new(counting)
		cfg := worker(r, r)
		cfg.Pools, cfg.CacheEntries = pools, 0
		cfg.Nets = FixedNet{"hash", ev}
		mustRun(t, cfg)
		if n := len(r.byOrdinal(t)); n != 100 {
			t.Errorf("%d pools: %d games of 100", pools, n)
		}
		// Only until the first games have begun and at the very end are there fewer
		// games than places; a place is empty for a batch after its game.
		whole, full := cfg.Parallel/pools, 0
		for _, n := range ev.sizes {
			if n == whole {
				full++
			}
		}
		if full < len(ev.sizes)*8/10 {
			t.Errorf("%d pools: %d of %d batches are full", pools, full, len(ev.sizes))
		}
		if most := len(ev.sizes) + 10; r.denied > most {
			t.Errorf("%d pools: refused %d times in %d batches", pools, r.denied, len(ev.sizes))
		}
	}
}

// TestMorePlacesThanTickets holds that empty places cost nothing but one
// question a batch.
func TestMorePlacesThanTickets(t *testing.T) {
	for _, pools := range []int{1, 2} {
		r := &requests{free: 3}
		ev := new(counting)
		cfg := worker(r, r)
		cfg.Pools, cfg.Parallel = pools, 1000
		cfg.Nets = FixedNet{"hash", ev}
		mustRun(t, cfg)
		if len(r.byOrdinal(t)) != 3 || r.asked > 2*len(ev.sizes)+10 {
			t.Errorf("%d pools: %d games; asked %d times in %d batches", pools, len(r.games), r.asked, len(ev.sizes))
		}
	}
}

// rendezvous is the evaluator of one of several workers, which wait for each
// other in their first batches.
type rendezvous struct {
	mcts.HashEvaluator
	left int // batches in which all meet
	meet *barrier
}

func (r *rendezvous) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if r.left > 0 {
		r.left--
		r.meet.wait()
	}
	return r.HashEvaluator.Evaluate(ctx, b)
}

// barrier holds its callers until all have come.
type barrier struct {
	mu      sync.Mutex
	changed sync.Cond
	all     int
	here    int
	round   int
}

func newBarrier(all int) *barrier {
	b := &barrier{all: all}
	b.changed.L = &b.mu
	return b
}

func (b *barrier) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.here++; b.here == b.all {
		b.here = 0
		b.round++
		b.changed.Broadcast()
		return
	}
	for round := b.round; round == b.round; {
		b.changed.Wait()
	}
}

// TestWorkersShareAShortRun holds that no worker takes most games of a run that
// has fewer than all their places, where they start together.
func TestWorkersShareAShortRun(t *testing.T) {
	const workers, games, places = 3, 36, 32
	meet, sink, tickets := newBarrier(workers), new(collector), NewTickets(0, games)
	cfgs := make([]WorkerConfig, workers)
	for i := range cfgs {
		cfgs[i] = worker(sink, tickets)
		cfgs[i].Parallel = places
		cfgs[i].Nets = FixedNet{"hash", &rendezvous{left: 2, meet: meet}}
	}
	if err := runAll(context.Background(), cfgs); err != nil {
		t.Fatal(err)
	}
	for i := range cfgs {
		if n := cfgs[i].Stats.GamesStarted.Load(); n < 8 || n > 20 {
			t.Errorf("worker %d of %d began %d of %d games", i+1, workers, n, games)
		}
	}
	if n := len(sink.byOrdinal(t)); n != games {
		t.Errorf("%d games", n)
	}
}

// TestNothingWantedEndsAtOnce: no tickets, no evaluation, no game.
func TestNothingWantedEndsAtOnce(t *testing.T) {
	for _, pools := range []int{1, 2} {
		ev := new(counting)
		cfg := worker(new(collector), NewTickets(0, 0))
		cfg.Pools, cfg.Nets = pools, FixedNet{"hash", ev}
		mustRun(t, cfg)
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if err := Run(ctx, cfg); !errors.Is(err, ErrStopped) || len(ev.sizes) != 0 {
			t.Errorf("%d pools: %v after %d batches", pools, err, len(ev.sizes))
		}
	}
}
