package loader

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// chunkCount is a source of so many chunks.
type chunkCount struct {
	key string
	n   int
}

func (c chunkCount) Key() string               { return c.key }
func (c chunkCount) Len() int                  { return c.n }
func (c chunkCount) Game(i int) (*Game, error) { return nil, errors.New("it has no games") }

// sourceEvent is a source that came at a time.
func sourceEvent(phase Phase, key string, time int64, n int) SourceEvent {
	e := SourceEvent{File: File{Key: key, Phase: phase, ModTime: time}}
	if n >= 0 {
		e.Source = chunkCount{key, n}
	}
	return e
}

func TestChunksToWait(t *testing.T) {
	for _, c := range []struct{ toWait, perNetwork, used, want int }{
		{100, 100, 100, 100}, // just as many as wanted
		{100, 100, 130, 70},  // 30 too many: fewer next time
		{100, 100, 900, 50},  // far too many: at least half
		{70, 100, 80, 90},
		{50, 101, 1000, 50},
	} {
		if got := ChunksToWait(c.toWait, c.perNetwork, c.used); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// A chunk counts once: not again when its file is renamed, rewritten or comes
// back, nor after a restart; what a rewritten file has more counts.
func TestScheduleCounts(t *testing.T) {
	s := newSchedule()
	s.scans, s.open = 1, 1
	expect := func(want int) {
		t.Helper()
		if got, _, _ := s.state(); got != want {
			t.Errorf("%d new chunks, want %d", got, want)
		}
	}
	s.see(sourceEvent(Initial, "a", 10, 5))
	s.see(sourceEvent(Initial, "b", 20, 7))
	expect(12)
	s.see(sourceEvent(InitialDone, "", 0, -1))
	s.see(sourceEvent(Replaced, "a", 30, 5))
	s.see(sourceEvent(Replaced, "b", 31, 9))
	s.see(sourceEvent(Removed, "a", 30, -1))
	s.see(sourceEvent(Added, "a", 30, 5))
	expect(14)
	if err := s.wait(t.Context(), 10, nil); err != nil {
		t.Fatal(err)
	}
	expect(0)
	s.see(sourceEvent(Added, "old", 5, 3)) // an old file, copied here with its time
	expect(3)
	state := saved(t, s.Section())

	again := newSchedule()
	again.scans, again.open = 1, 1
	if err := again.Section().Load(strings.NewReader(state), 1); err != nil {
		t.Fatal(err)
	}
	s = again
	s.see(sourceEvent(Initial, "a", 30, 5))
	s.see(sourceEvent(Initial, "b", 31, 9))
	s.see(sourceEvent(Initial, "c", 31, 2)) // after b by name
	expect(2)
	s.see(sourceEvent(InitialDone, "", 0, -1))
	var have, want int
	ctx, cancel := context.WithCancel(t.Context())
	err := s.wait(ctx, 10, func(h, w int) { have, want = h, w; cancel() })
	if !errors.Is(err, context.Canceled) || have != 2 || want != 6 { // 10 + 10 - 14
		t.Errorf("%v, have %d, want %d", err, have, want)
	}
}

// Nothing begins before the first scan is complete, and nobody waits for what
// will never come.
func TestScheduleWaits(t *testing.T) {
	s := newSchedule()
	s.scans, s.open = 1, 1
	s.see(sourceEvent(Initial, "a", 10, 5))
	done, asked := make(chan error), make(chan int, 10)
	go func() { done <- s.wait(t.Context(), 3, func(have, _ int) { asked <- have }) }()
	if <-asked != 5 {
		t.Error("not asked with 5")
	}
	s.see(sourceEvent(InitialDone, "", 0, -1))
	if err := <-done; err != nil {
		t.Error(err)
	}
	go func() { done <- s.wait(t.Context(), 3, nil) }()
	s.end()
	if err := <-done; !errors.Is(err, ErrDataEnded) || !strings.Contains(err.Error(), "have 0 new chunks, need 1") {
		t.Error(err)
	}
}

// TestScheduleNow: who asks for a net at once gets it when the first scan is
// complete, whether somebody waits already or not, and the net after it waits
// for as many chunks as usual.
func TestScheduleNow(t *testing.T) {
	s := newSchedule()
	s.scans, s.open = 1, 1
	s.see(sourceEvent(Initial, "a", 10, 2))
	done, asked := make(chan error), make(chan int, 10)
	report := func(have, want int) { asked <- want - have }
	go func() { done <- s.wait(t.Context(), 10, report) }()
	if missing := <-asked; missing != 8 {
		t.Errorf("%d are missing, want 8", missing)
	}
	s.trainNow()
	select {
	case err := <-done:
		t.Fatalf("begun before the first scan was complete: %v", err)
	case <-asked: // it has looked again, and waits
	}
	s.see(sourceEvent(InitialDone, "", 0, -1))
	if err := <-done; err != nil {
		t.Error(err)
	}
	if fresh, owed, _ := s.state(); fresh != 0 || owed != 10 {
		t.Errorf("%d new chunks, the next net waits for %d; want 0 and 10", fresh, owed)
	}
	s.see(sourceEvent(Added, "b", 20, 3))
	s.trainNow()
	if err := s.wait(t.Context(), 10, nil); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := s.wait(ctx, 10, func(have, want int) {
		if have != 0 || want != 10 {
			t.Errorf("have %d, want %d; that was for one net only", have, want)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
