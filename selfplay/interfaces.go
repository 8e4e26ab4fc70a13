package selfplay

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// Sink takes finished games, each once. Put may block, which holds up the
// worker that calls it; it owns g from then on, unless it fails: then the game
// is the worker's still and is handed out again in the next run. Workers call
// it concurrently.
type Sink interface {
	Put(ctx context.Context, g *record.Game) error
}

// Tickets hands out game ordinals, each once; ok = false: no more games are
// wanted now. Workers call Next concurrently, and between two batches: while it
// blocks, the worker's games under way rest.
//
// A worker with free places asks once before every batch, also after a refusal:
// games that are asked for while the last ones of a request are under way fill
// their batches up. It ends when it has no game left and is refused. Workers
// that share tickets take them as their places get free, so that none has many
// more games than another until the tickets are used up; from then on each plays
// its own games to their ends in smaller and smaller batches. Games do not move
// between workers: their trees and the cache would stay behind.
type Tickets interface {
	Next(ctx context.Context) (ordinal uint64, ok bool)
}

// Net is weights to play with.
type Net struct {
	ID        string
	Evaluator mcts.Evaluator
	// Generation tells weights apart, even under one id: within a generation all
	// evaluators give the same answers, bit for bit.
	Generation uint64
	Samples    uint64 // training samples the weights have seen; 0 = none or not known
}

// NetSource says which weights to play with. Each worker has its own; it asks
// before every batch, while no evaluation is under way: Current may change the
// evaluator that it handed out before.
type NetSource interface {
	Current() Net
}

// Counter hands out ordinals in their order. It is safe for concurrent use.
type Counter struct {
	next atomic.Uint64
	end  uint64
	list []uint64 // what is counted through; nil = the ordinals themselves
}

// NewTickets returns tickets for the ordinals first to first+count-1.
func NewTickets(first, count uint64) *Counter {
	c := &Counter{end: first + count}
	c.next.Store(first)
	return c
}

// NewList returns tickets for the ordinals, which must not be changed: for a resume
// that plays only what is missing.
func NewList(ordinals []uint64) *Counter {
	return &Counter{end: uint64(len(ordinals)), list: ordinals}
}

// Next hands out one ordinal.
func (c *Counter) Next(ctx context.Context) (uint64, bool) {
	if ctx.Err() != nil {
		return 0, false
	}
	n := c.next.Add(1) - 1
	if n >= c.end {
		return 0, false
	}
	if c.list != nil {
		n = c.list[n]
	}
	return n, true
}

var (
	// ErrStopped says that the context was cancelled while games were wanted or
	// under way. Everything handed to the sink before is whole. The games under
	// way are had from Worker.Unfinished; one that is dropped instead leaves its
	// ordinal unused, which gives the same game again with the same net. It wraps
	// the context's cause.
	ErrStopped = errors.New("self-play stopped")

	// ErrEvaluation says that the evaluator answered with numbers that are not
	// finite or not probabilities. No game was played on with them.
	ErrEvaluation = errors.New("evaluator gave an unusable answer")

	// ErrUnfinished says that bytes are not an unfinished game of this version of
	// the program, or that the game belongs to another run.
	ErrUnfinished = errors.New("unusable unfinished game")
)
