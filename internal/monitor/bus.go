package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"
)

// Sink reads every event, in order, inside Publish. It must not block on
// anything slower than a file. Handle is never called by two goroutines at once.
type Sink interface {
	Handle(e Event) error
}

// SinkFunc makes a Sink of a function.
type SinkFunc func(Event) error

// Handle implements Sink.
func (f SinkFunc) Handle(e Event) error { return f(e) }

// BusOptions configures a Bus.
type BusOptions struct {
	Job string           // fills Header.Job
	Seq uint64           // number of the last event of an earlier process; 0 = none
	Now func() time.Time // fills Header.Time; nil = time.Now
}

// Bus hands events to sinks and subscriptions. It is safe for concurrent use;
// all readers see the same order.
type Bus struct {
	opt BusOptions

	mu     sync.Mutex // guards the rest; held while sinks run
	seq    uint64
	sinks  []Sink
	failed []error // per sink, the first error; a failed sink gets nothing more
	subs   map[*Subscription]struct{}
	closed bool

	readErr []error
	readers sync.WaitGroup // goroutines of Go
}

// NewBus returns a bus without readers.
func NewBus(opt BusOptions) *Bus {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Bus{opt: opt, seq: opt.Seq, subs: map[*Subscription]struct{}{}}
}

// Attach adds a sink, which sees every event from now on. An error that it
// returns is kept for Err, and the sink is left out from then on.
func (b *Bus) Attach(s Sink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sinks = append(b.sinks, s)
	b.failed = append(b.failed, nil)
}

// Publish completes the header of e and hands it to all readers. After it
// returns every sink has seen e. It never waits for a subscription. On a closed
// bus it does nothing.
func (b *Bus) Publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.seq++
	h := e.Head()
	h.V, h.Type, h.Seq = SchemaVersion, types[reflect.TypeOf(e)], b.seq
	if h.Time.IsZero() {
		h.Time = b.opt.Now()
	}
	h.Time = h.Time.UTC()
	h.Job = cmp.Or(h.Job, b.opt.Job)
	for i, s := range b.sinks {
		if b.failed[i] == nil {
			b.failed[i] = s.Handle(e)
		}
	}
	for s := range b.subs {
		select {
		case s.events <- e:
		default: // dropped
		}
	}
}

// Err returns what failed so far: errors of sinks (disk full, ...) and of
// readers started by Go. A run should look at it at every checkpoint.
func (b *Bus) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return errors.Join(slices.Concat(b.failed, b.readErr)...)
}

// Subscription is a bounded queue of events for one slow reader.
type Subscription struct {
	bus    *Bus
	events chan Event
}

// Subscribe returns a queue of capacity events (at least 1). When it is full a
// new event is dropped, for this reader only. Its Close must be
// called, unless the bus is closed first.
func (b *Bus) Subscribe(capacity int) *Subscription {
	s := &Subscription{bus: b, events: make(chan Event, max(capacity, 1))}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		close(s.events)
	} else {
		b.subs[s] = struct{}{}
	}
	return s
}

// Events is closed when the subscription or the bus is.
func (s *Subscription) Events() <-chan Event { return s.events }

// Close ends the subscription; what is still queued can be read.
func (s *Subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.end(s)
}

// end closes a subscription once. The bus is locked.
func (b *Bus) end(s *Subscription) {
	if _, open := b.subs[s]; open {
		delete(b.subs, s)
		close(s.events)
	}
}

// Go runs a sink in a goroutine of its own behind a queue of the given capacity,
// for readers that may block, such as a terminal. The bus owns the goroutine;
// Close waits for it.
func (b *Bus) Go(capacity int, sink Sink) {
	s := b.Subscribe(capacity)
	b.readers.Go(func() {
		var failed error
		for e := range s.Events() {
			if failed != nil {
				continue
			}
			if failed = sink.Handle(e); failed != nil {
				b.mu.Lock()
				b.readErr = append(b.readErr, failed)
				b.mu.Unlock()
			}
		}
	})
}

// Close ends all subscriptions, lets the readers of Go finish what is queued
// and waits for them until ctx is done. Sinks are not closed: their owners do
// that. It returns Err.
func (b *Bus) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	for s := range b.subs {
		b.end(s)
	}
	b.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the last reader
		b.readers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return b.Err()
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("wait for the readers of events: %w", ctx.Err()), b.Err())
	}
}
