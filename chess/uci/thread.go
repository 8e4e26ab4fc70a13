package uci

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// thread is what one thread searches with.
type thread struct {
	net   mcts.Evaluator
	batch *encoding.Batch
}

// grow gathers a batch of up to so many leaves, has it evaluated and backed up, and
// returns how many they were. On an error the leaves are forgotten and the tree is as
// before.
func (t *thread) grow(ctx context.Context, s *mcts.Search, leaves int) (rows int, err error) {
	t.batch.Reset()
	if rows = s.GatherSome(t.batch, leaves, burst); rows == 0 {
		runtime.Gosched() // where others know all leaves: let them answer
		return 0, nil
	}
	if err := t.net.Evaluate(ctx, t.batch); err != nil {
		s.Cancel()
		return rows, err
	}
	s.Apply(t.batch)
	return rows, nil
}

// helpers are all threads but the first, at work in its tree.
type helpers struct {
	e        *Engine
	searches []*mcts.Search
	over     atomic.Bool
	wait     sync.WaitGroup
	failed   atomic.Pointer[error] // the first that failed; the others went on
}

// help sets the other threads to work.
func (e *Engine) help(ctx context.Context) *helpers {
	h := &helpers{e: e, searches: e.search.Split(len(e.threads) - 1)}
	for i, s := range h.searches {
		h.wait.Go(func() {
			t := &e.threads[i+1]
			for !h.over.Load() && !s.Done() {
				if _, err := t.grow(ctx, s, e.settings.minibatch); err != nil {
					if ctx.Err() == nil {
						h.failed.CompareAndSwap(nil, &err)
					}
					return
				}
			}
		})
	}
	return h
}

// end stops the helpers and makes their visits those of the search.
func (h *helpers) end() {
	h.over.Store(true)
	h.wait.Wait()
	h.e.search.Join(h.searches)
	if err := h.failed.Load(); err != nil {
		h.e.fault(*err)
	}
}
