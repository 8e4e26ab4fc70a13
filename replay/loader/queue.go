package loader

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/replay"
)

// Overflow says what Put does when a queue is full.
type Overflow uint8

// The overflow rules.
const (
	Block      Overflow = iota // wait for room
	DropNew                    // forget the new item
	KeepNewest                 // forget the oldest item
)

var overflowNames = [...]string{"BLOCK", "DROP_NEW", "KEEP_NEWEST"}

// String returns the rule's name in the config, such as "DROP_NEW".
func (o Overflow) String() string {
	if int(o) < len(overflowNames) {
		return overflowNames[o]
	}
	return "unknown"
}

// Queue connects two stages. Any number of goroutines may put and get. The
// producer calls Close when its last Put has returned.
type Queue[T any] struct {
	items    chan T
	overflow Overflow

	closing sync.Once
	closed  chan struct{}

	puts, gets, drops atomic.Uint64
	tap               func(T) // sees every item that is put, before it can be got; nil = none
	tapClose          func()  // sees the first Close; nil = none

	mu      sync.Mutex
	through uint64 // puts at the last tick, without those dropped
	passed  History
}

// NewQueue returns an empty queue of the given capacity, at least 1.
func NewQueue[T any](capacity int, overflow Overflow) *Queue[T] {
	return &Queue[T]{items: make(chan T, max(1, capacity)), overflow: overflow, closed: make(chan struct{})}
}

// Put appends v, by the overflow rule where there is no room. An error is
// ctx's, or replay.ErrClosed.
func (q *Queue[T]) Put(ctx context.Context, v T) error {
	select {
	case <-q.closed:
		return replay.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if q.tap != nil {
		q.tap(v)
	}
	q.puts.Add(1)
	select {
	case q.items <- v:
		return nil
	default:
	}
	switch q.overflow {
	case DropNew:
		q.drops.Add(1)
		return nil
	case KeepNewest:
		for {
			select {
			case <-q.items:
				q.drops.Add(1)
			default:
			}
			select {
			case q.items <- v:
				return nil
			default:
			}
		}
	}
	select {
	case q.items <- v:
		return nil
	case <-ctx.Done():
		q.puts.Add(^uint64(0))
		return ctx.Err()
	case <-q.closed:
		q.puts.Add(^uint64(0))
		return replay.ErrClosed
	}
}

// PutAll puts items one after the other.
func (q *Queue[T]) PutAll(ctx context.Context, items []T) error {
	for _, v := range items {
		if err := q.Put(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// Get takes the oldest item and waits for one. io.EOF: the queue is closed and
// empty. Otherwise an error is ctx's.
func (q *Queue[T]) Get(ctx context.Context) (v T, err error) {
	if v, ok := q.TryGet(); ok {
		return v, nil
	}
	select {
	case v = <-q.items:
		q.gets.Add(1)
		return v, nil
	case <-ctx.Done():
		return v, ctx.Err()
	case <-q.closed:
	}
	if v, ok := q.TryGet(); ok { // what was put before Close
		return v, nil
	}
	return v, io.EOF
}

// TryGet takes the oldest item if there is one.
func (q *Queue[T]) TryGet() (v T, ok bool) {
	select {
	case v = <-q.items:
		q.gets.Add(1)
		return v, true
	default:
		return v, false
	}
}

// Close says that nothing will be put any more; what is in the queue can still
// be got. A second Close does nothing.
func (q *Queue[T]) Close() {
	q.closing.Do(func() {
		close(q.closed)
		if q.tapClose != nil {
			q.tapClose()
		}
	})
}

// QueueStats are a queue's counters. Puts = Gets + Drops + Length, but for what
// is under way at the moment of the call.
type QueueStats struct {
	Capacity int    `json:"capacity"`
	Overflow string `json:"overflow"`
	Length   int    `json:"length"`
	Puts     uint64 `json:"puts"` // items offered, those dropped included
	Gets     uint64 `json:"gets"`
	Drops    uint64 `json:"drops"`
}

// Stats returns the counters since the start.
func (q *Queue[T]) Stats() QueueStats {
	return QueueStats{Capacity: cap(q.items), Overflow: q.overflow.String(), Length: len(q.items),
		Puts: q.puts.Load(), Gets: q.gets.Load(), Drops: q.drops.Load()}
}

// tick ends a second of the queue's history.
func (q *Queue[T]) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	puts := q.puts.Load()
	through := puts - min(q.drops.Load(), puts)
	q.passed.Tick(through - min(q.through, through))
	q.through = through
}

// lately returns what got through, see OutputStats.Passed.
func (q *Queue[T]) lately() []uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.passed.Windows()
}

// anyQueue is a Queue of whatever type.
type anyQueue interface {
	Close()
	Stats() QueueStats
	tick()
	lately() []uint64
}
