package play

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/selfplay"
)

// Players are the worker goroutines of one process. They share the tickets.
type Players struct {
	workers []*selfplay.Worker
	Done    chan struct{} // closed when all have ended: the tickets are used up, the context ended, or one failed and stopped the others
	Err     error         // valid after done
}

// StartPlayers starts number workers, which go on with the unfinished games in
// equal shares. worker has tickets and sink; each worker gets its own view of
// nets.
func StartPlayers(ctx context.Context, nets *Nets, worker selfplay.WorkerConfig, number int, unfinished []selfplay.Unfinished) (*Players, error) {
	shares := make([][]selfplay.Unfinished, number)
	for i, g := range unfinished {
		shares[i%number] = append(shares[i%number], g)
	}
	p := &Players{Done: make(chan struct{})}
	for i := range number {
		worker.Nets, worker.Unfinished = &workerNet{nets: nets, maxBatch: worker.Parallel}, shares[i]
		w, err := selfplay.NewWorker(worker)
		if err != nil {
			return nil, fmt.Errorf("start producer: %w", err)
		}
		p.workers = append(p.workers, w)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, w := range p.workers {
		group.Go(func() error { return w.Run(ctx) })
	}
	go func() {
		p.Err = group.Wait()
		close(p.Done)
	}()
	return p, nil
}

// unfinished returns the games that were under way when the players ended.
func (p *Players) unfinished() (games []selfplay.Unfinished) {
	for _, w := range p.workers {
		games = append(games, w.Unfinished()...)
	}
	return games
}

// Stopped says whether err only says that the workers were told to stop.
func Stopped(err error) bool {
	return errors.Is(err, selfplay.ErrStopped) || errors.Is(err, context.Canceled)
}

// freeTickets hands out the lowest ordinals that no game on disk has. It
// satisfies selfplay.Tickets and is safe for concurrent use.
type freeTickets struct {
	mu    sync.Mutex
	taken run.Ordinals
	next  uint64
	left  int64 // -1 = no end
}

// newFreeTickets returns tickets until total games exist in all; 0 = no end.
func newFreeTickets(taken *run.Ordinals, total int64) *freeTickets {
	t := &freeTickets{taken: taken.Clone(), left: -1}
	if total > 0 {
		t.left = max(0, total-int64(taken.Len()))
	}
	return t
}

// Next hands out one ordinal.
func (t *freeTickets) Next(ctx context.Context) (uint64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left == 0 || ctx.Err() != nil {
		return 0, false
	}
	for t.taken.Has(t.next) {
		t.next++
	}
	t.next++
	if t.left > 0 {
		t.left--
	}
	return t.next - 1, true
}
