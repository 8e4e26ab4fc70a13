package monitor

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func fixedClock() func() time.Time {
	return func() time.Time { return time.Unix(1700000000, 0) }
}

func TestBusOrderAndHeader(t *testing.T) {
	b := NewBus(BusOptions{Job: "j", Seq: 41, Now: fixedClock()})
	var seen []uint64
	b.Attach(SinkFunc(func(e Event) error { seen = append(seen, e.Head().Seq); return nil }))
	sub := b.Subscribe(1000)
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 100 {
				b.Publish(&Step{})
			}
		})
	}
	writers.Wait()
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	var queued []uint64
	for e := range sub.Events() {
		h := e.Head()
		queued = append(queued, h.Seq)
		if h.Job != "j" || h.V != SchemaVersion || h.Type != "step" || !h.Time.Equal(fixedClock()()) {
			t.Fatalf("header %+v", h)
		}
	}
	if len(seen) != 400 || len(queued) != 400 {
		t.Fatalf("sink saw %d, subscription %d of 400", len(seen), len(queued))
	}
	for i := range seen {
		if seen[i] != uint64(42+i) || queued[i] != seen[i] {
			t.Fatalf("event %d has number %d and %d", i, seen[i], queued[i])
		}
	}
	b.Publish(&Step{}) // after Close: nothing
	if b.seq != 441 || len(seen) != 400 {
		t.Error("a closed bus took an event")
	}
}

// TestSlowReader: a reader that never reads loses events;
// Publish does not wait and the lossless sink misses nothing.
func TestSlowReader(t *testing.T) {
	b := NewBus(BusOptions{})
	n := 0
	b.Attach(SinkFunc(func(Event) error { n++; return nil }))
	stuck := make(chan struct{})
	b.Go(2, SinkFunc(func(Event) error { <-stuck; return nil }))
	sub := b.Subscribe(3)
	for range 10 {
		b.Publish(&Step{})
	}
	sub.Close()
	queued := 0
	for range sub.Events() {
		queued++
	}
	if n != 10 || queued != 3 {
		t.Errorf("the sink saw %d, the queue holds %d", n, queued)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close with a stuck reader: %v", err)
	}
	close(stuck)
	if err := b.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestFailingReaders(t *testing.T) {
	b := NewBus(BusOptions{})
	full, gone := errors.New("disk full"), errors.New("terminal gone")
	calls := 0
	b.Attach(SinkFunc(func(Event) error { calls++; return full }))
	b.Go(8, SinkFunc(func(Event) error { return gone }))
	b.Publish(&Step{})
	b.Publish(&Step{})
	if !errors.Is(b.Err(), full) {
		t.Errorf("Err is %v", b.Err())
	}
	if calls != 1 {
		t.Errorf("a failed sink was called %d times", calls)
	}
	err := b.Close(context.Background())
	if !errors.Is(err, full) || !errors.Is(err, gone) {
		t.Errorf("Close gives %v", err)
	}
	late := b.Subscribe(1)
	if _, open := <-late.Events(); open {
		t.Error("a subscription of a closed bus is open")
	}
}
