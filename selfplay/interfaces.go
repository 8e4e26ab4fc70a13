package selfplay

import (
	"context"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// Sink takes finished games, each once. Put may block, which holds up the
// worker that calls it; it owns g from then on. Workers call it concurrently.
type Sink interface {
	Put(ctx context.Context, g *record.Game) error
}

// Tickets hands out game ordinals, each once; ok = false: no more games are
// wanted. Workers call Next concurrently, and between two batches, so it must
// not block.
type Tickets interface {
	Next(ctx context.Context) (ordinal uint64, ok bool)
}

// NetSource says which weights to play with. Each worker has its own; it asks
// before every batch. A new generation means new weights, even under one id;
// within a generation all evaluators give the same answers, bit for bit.
type NetSource interface {
	Current() (id string, ev mcts.Evaluator, generation uint64)
}

// FixedNet is a NetSource whose weights never change.
type FixedNet struct {
	ID        string
	Evaluator mcts.Evaluator
}

// Current returns the one net.
func (f FixedNet) Current() (string, mcts.Evaluator, uint64) { return f.ID, f.Evaluator, 0 }

// Counter hands out the ordinals from first on, count of them. It is safe for
// concurrent use.
type Counter struct {
	next atomic.Uint64
	end  uint64
}

// NewTickets returns tickets for the ordinals first to first+count-1.
func NewTickets(first, count uint64) *Counter {
	c := &Counter{end: first + count}
	c.next.Store(first)
	return c
}

// Next hands out one ordinal.
func (c *Counter) Next(ctx context.Context) (uint64, bool) {
	for {
		n := c.next.Load()
		if n >= c.end || ctx.Err() != nil {
			return 0, false
		}
		if c.next.CompareAndSwap(n, n+1) {
			return n, true
		}
	}
}

// List hands out the given ordinals in their order: for a resume that plays
// only what is missing. It is safe for concurrent use.
type List struct {
	next     atomic.Uint64
	ordinals []uint64
}

// NewList returns tickets for the ordinals, which must not be changed.
func NewList(ordinals []uint64) *List { return &List{ordinals: ordinals} }

// Next hands out one ordinal.
func (l *List) Next(ctx context.Context) (uint64, bool) {
	if ctx.Err() != nil {
		return 0, false
	}
	i := l.next.Add(1) - 1
	if i >= uint64(len(l.ordinals)) {
		return 0, false
	}
	return l.ordinals[i], true
}
