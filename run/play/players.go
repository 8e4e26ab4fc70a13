package play

import (
	"context"
	"errors"
	"fmt"
	"math"
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
// where the first net would play most of them. When the lead is used up and the trainer
// is the slower side, workers rest, with their games under way, until many games may
// begin at once: otherwise each game that the trainer takes would be played nearly
// alone, in batches of one or two positions, which cost up to twice the time. It is safe
// for concurrent use.
type Lead struct {
	tickets selfplay.Tickets
	games   int // that may be ahead
	refill  int // workers rest until so many may begin; 0 = they never rest

	mu      sync.Mutex
	free    int           // games that may begin
	resting bool          // the lead was used up, and fewer than refill may begin
	ended   bool          // there are no tickets left
	change  chan struct{} // closed and made anew when one of these changes
}

// NewLead returns tickets that are at most so many games ahead, for workers that have so
// many places in all. Half of the places are filled again at once where the lead has
// room for that: what it has beyond all places is finished when it is used up, so the
// trainer has games while the workers rest.
func NewLead(tickets selfplay.Tickets, games, places int) *Lead {
	return &Lead{tickets: tickets, games: games, refill: max(0, min(places/2, games-places)), free: games, change: make(chan struct{})}
}

// Next hands out one ordinal. It blocks while workers rest.
func (l *Lead) Next(ctx context.Context) (uint64, bool) {
	if !l.waitUntil(ctx, func() bool { return !l.resting || l.ended }) {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free == 0 || l.ended {
		return 0, false
	}
	ordinal, ok := l.tickets.Next(ctx)
	if !ok {
		l.ended = true
		l.changed()
		return 0, false
	}
	l.free--
	l.resting = l.free == 0 && l.refill > 0
	return ordinal, true
}

// Taken lets another game begin: the trainer has one.
func (l *Lead) Taken() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free == l.games {
		return // a game that branched off another one had no ticket
	}
	l.free++
	l.resting = l.resting && l.free < l.refill
	l.changed()
}

// wait waits until a game may begin; false: none will.
func (l *Lead) wait(ctx context.Context) bool {
	ok := l.waitUntil(ctx, func() bool { return l.free > 0 || l.ended })
	l.mu.Lock()
	defer l.mu.Unlock()
	return ok && !l.ended
}

// waitUntil waits until condition, which reads l, is true; false: ctx ended before.
func (l *Lead) waitUntil(ctx context.Context, condition func() bool) bool {
	for {
		l.mu.Lock()
		ok, change := condition(), l.change
		l.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-change:
		case <-ctx.Done():
			return false
		}
	}
}

// changed wakes who waits. l.mu is held.
func (l *Lead) changed() {
	close(l.change)
	l.change = make(chan struct{})
}

// FreeTickets hands out the lowest ordinals that no game of a run has. It
// satisfies selfplay.Tickets and is safe for concurrent use.
type FreeTickets struct {
	mu    sync.Mutex
	taken run.Ordinals
	next  uint64
	left  int64 // -1 = no end
}

// NewFreeTickets returns so many tickets; below 0 = without end.
func NewFreeTickets(taken *run.Ordinals, count int64) *FreeTickets {
	return &FreeTickets{taken: taken.Clone(), next: taken.Free(0), left: max(-1, count)}
}

// Next hands out one ordinal.
func (t *FreeTickets) Next(ctx context.Context) (uint64, bool) {
	if ctx.Err() != nil {
		return 0, false
	}
	return t.below(math.MaxUint64)
}

// Below hands out all ordinals below end, ascending.
func (t *FreeTickets) Below(end uint64) (ordinals []uint64) {
	for n, ok := t.below(end); ok; n, ok = t.below(end) {
		ordinals = append(ordinals, n)
	}
	return ordinals
}

func (t *FreeTickets) below(end uint64) (uint64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.next
	if t.left == 0 || n >= end {
		return 0, false
	}
	t.next = t.taken.Free(n + 1)
	if t.left > 0 {
		t.left--
	}
	return n, true
}

// Lowest is the ordinal that comes next, MaxUint64 without one.
func (t *FreeTickets) Lowest() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left == 0 {
		return math.MaxUint64
	}
	return t.next
}

// roomyTickets are tickets of others while a courier has room for games.
type roomyTickets struct {
	selfplay.Tickets
	courier Courier
}

// Next hands out one ordinal. It blocks while there is no room.
func (t roomyTickets) Next(ctx context.Context) (uint64, bool) {
	if !t.courier.Room(ctx) {
		return 0, false
	}
	return t.Tickets.Next(ctx)
}
