package selfplay

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// collector is a sink that keeps everything, in the order of arrival.
type collector struct {
	mu    sync.Mutex
	games []*record.Game
	after func(n int) // called after the n-th game
}

func (c *collector) Put(_ context.Context, g *record.Game) error {
	c.mu.Lock()
	c.games = append(c.games, g)
	n := len(c.games)
	c.mu.Unlock()
	if c.after != nil {
		c.after(n)
	}
	return nil
}

// byOrdinal returns the games by ordinal and fails on a doubled one.
func (c *collector) byOrdinal(t *testing.T) map[uint64]*record.Game {
	t.Helper()
	m := make(map[uint64]*record.Game)
	for _, g := range c.games {
		if m[g.Ordinal] != nil {
			t.Fatalf("game %d came twice", g.Ordinal)
		}
		if err := g.Validate(); err != nil {
			t.Fatalf("game %d: %v", g.Ordinal, err)
		}
		m[g.Ordinal] = g
	}
	return m
}

// counting is an evaluator that notes the size of its batches.
type counting struct {
	mcts.HashEvaluator
	sizes []int
}

func (c *counting) Evaluate(ctx context.Context, b *encoding.Batch) error {
	c.sizes = append(c.sizes, b.N)
	return c.HashEvaluator.Evaluate(ctx, b)
}

// short is a quick game: few visits, few plies.
func short() GameConfig {
	c := DefaultGameConfig()
	c.Search.Simulations = 6
	c.MaxPlies = 40
	return c
}

// FixedNet is a NetSource whose weights never change.
type FixedNet struct {
	ID        string
	Evaluator mcts.Evaluator
}

func (f FixedNet) Current() Net { return Net{ID: f.ID, Evaluator: f.Evaluator} }

func worker(sink Sink, tickets Tickets) WorkerConfig {
	return WorkerConfig{
		Game: short(), RunSeed: 7, Parallel: 8, CacheEntries: 2000,
		Tickets: tickets, Sink: sink, Stats: new(Stats),
		Nets: FixedNet{"hash", &mcts.HashEvaluator{}},
	}
}

func mustRun(t *testing.T, cfg WorkerConfig) {
	t.Helper()
	if err := Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
}

// runAll runs the workers side by side until all are through or one fails.
func runAll(ctx context.Context, cfgs []WorkerConfig) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, cfg := range cfgs {
		group.Go(func() error { return Run(ctx, cfg) })
	}
	return group.Wait()
}

// bytesOf returns a game's record as it is stored.
func bytesOf(t *testing.T, g *record.Game) []byte {
	t.Helper()
	b, err := record.Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sameGames(t *testing.T, what string, a, b map[uint64]*record.Game) {
	t.Helper()
	same := len(a) == len(b)
	for ordinal, g := range a {
		same = same && b[ordinal] != nil && bytes.Equal(bytesOf(t, g), bytesOf(t, b[ordinal]))
	}
	if same {
		return
	}
	if diff := cmp.Diff(a, b, cmpopts.EquateNaNs()); diff != "" {
		t.Fatalf("%s changes games:\n%.2000s", what, diff)
	}
}

// failing is an evaluator that breaks after some batches.
type failing struct {
	mcts.HashEvaluator
	left int
}

var errBroken = errors.New("broken")

func (f *failing) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if f.left--; f.left < 0 {
		return errBroken
	}
	return f.HashEvaluator.Evaluate(ctx, b)
}

// answer has the positions evaluated that g's search waits for, once.
func answer(t *testing.T, g *game) {
	t.Helper()
	b := encoding.NewBatch(1)
	if g.search.Gather(b, 1) == 0 {
		return
	}
	if err := new(mcts.HashEvaluator).Evaluate(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	g.search.Apply(b)
}
