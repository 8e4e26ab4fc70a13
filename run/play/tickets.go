package play

import (
	"context"
	"sync"

	"github.com/chessbrain/chessbrain/run"
)

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
