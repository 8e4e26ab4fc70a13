package play

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/selfplay"
)

// When the trainer is the slower side, workers rest until half of their places can be
// filled at once, and play what is under way to its end when no tickets are left.
func TestLeadRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const games, places = 12, 8
		l := NewLead(selfplay.NewTickets(0, games+6), games, places)
		for range games {
			if _, ok := l.Next(t.Context()); !ok {
				t.Fatal("refused a game within the lead")
			}
		}
		begun := make(chan uint64)
		go func() {
			defer close(begun)
			for {
				n, ok := l.Next(t.Context())
				if !ok {
					return
				}
				begun <- n
			}
		}()
		for range places/2 - 1 {
			l.Taken()
		}
		synctest.Wait()
		select {
		case n := <-begun:
			t.Fatalf("game %d began alone", n)
		default:
		}
		l.Taken()
		for i := range places / 2 {
			if n := <-begun; n != uint64(games+i) {
				t.Fatalf("game %d began, want %d", n, games+i)
			}
		}
		for range places { // the last ones but two have no tickets
			l.Taken()
		}
		left := 0
		for range begun {
			left++
		}
		if left != 2 || l.wait(t.Context()) {
			t.Errorf("%d more games began, want 2 and an end", left)
		}
	})
}

// A lead that has no room beyond the places never rests: the trainer might have nothing
// to take. Nor does it wait for one who is told to stop.
func TestLeadOfShortRuns(t *testing.T) {
	l := NewLead(selfplay.NewTickets(0, 100), 4, 8)
	for range 4 {
		l.Next(t.Context())
	}
	if _, ok := l.Next(t.Context()); ok {
		t.Error("a game began beyond the lead")
	}
	l.Taken()
	if n, ok := l.Next(t.Context()); !ok || n != 4 {
		t.Errorf("game %d began: %v", n, ok)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	l = NewLead(selfplay.NewTickets(0, 100), 4, 2)
	for range 4 {
		l.Next(t.Context())
	}
	if _, ok := l.Next(stopped); ok {
		t.Error("a game began though the workers are told to stop")
	}
}

// TestFreeTickets: what is there is not handed out again, and games without number cost
// no more than a few.
func TestFreeTickets(t *testing.T) {
	taken := run.Ordinals{Ranges: [][2]uint64{{0, 3}, {5, 6}}}
	f := NewFreeTickets(&taken, 1e15)
	if n := f.Lowest(); n != 3 {
		t.Errorf("the lowest is %d", n)
	}
	if n := f.Below(8); !slices.Equal(n, []uint64{3, 4, 6, 7}) {
		t.Errorf("below 8: %d", n)
	}
	if n, ok := f.Next(t.Context()); n != 8 || !ok {
		t.Errorf("then %d, %v", n, ok)
	}
	for count, want := range map[int64][]uint64{0: nil, 2: {3, 4}, -1: {3, 4, 6, 7}} {
		f := NewFreeTickets(&taken, count)
		if n := f.Below(8); !slices.Equal(n, want) {
			t.Errorf("of %d: %d, want %d", count, n, want)
		}
		if n := f.Lowest(); (n == math.MaxUint64) != (count >= 0) {
			t.Errorf("of %d then the lowest is %d", count, n)
		}
	}
}
