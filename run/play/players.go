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
// equal shares. worker has tickets, for which they wait where these are a Lead, and
// sink; each worker gets its own view of nets.
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
	again := func(context.Context) bool { return false } // a worker that was refused has ended
	if lead, ok := worker.Tickets.(*Lead); ok {
		again = lead.wait
	}
	for _, w := range p.workers {
		group.Go(func() error {
			for {
				if err := w.Run(ctx); err != nil || !again(ctx) {
					return err
				}
			}
		})
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

// Lead hands out tickets of others as long as fewer than so many games are ahead of the
// trainer: begun, and not yet its own. Nets then play games throughout a short training,
// where the first net would play most of them. It is safe for concurrent use.
type Lead struct {
	tickets selfplay.Tickets
	free    chan struct{} // one for each game that may begin
	end     chan struct{} // closed when there are no tickets left
	once    sync.Once
}

// NewLead returns tickets that are at most so many games ahead.
func NewLead(tickets selfplay.Tickets, games int) *Lead {
	l := &Lead{tickets: tickets, free: make(chan struct{}, games), end: make(chan struct{})}
	for range games {
		l.free <- struct{}{}
	}
	return l
}

// Next hands out one ordinal.
func (l *Lead) Next(ctx context.Context) (uint64, bool) {
	select {
	case <-l.free:
	default:
		return 0, false
	}
	ordinal, ok := l.tickets.Next(ctx)
	if !ok {
		l.once.Do(func() { close(l.end) })
	}
	return ordinal, ok
}

// Taken lets another game begin: the trainer has one.
func (l *Lead) Taken() {
	select {
	case l.free <- struct{}{}:
	default: // a game that branched off another one had no ticket
	}
}

// wait waits until a game may begin; false: none will.
func (l *Lead) wait(ctx context.Context) bool {
	select {
	case <-l.free:
		l.Taken()
		return true
	case <-l.end:
	case <-ctx.Done():
	}
	return false
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
