package train

import (
	"testing"
	"time"
)

// clock is a clock that a test moves; each look at it takes a step.
type clock struct {
	at   time.Time
	step time.Duration
}

func (c *clock) now() time.Time {
	c.at = c.at.Add(c.step)
	return c.at
}

// comesAfter is ready at the n-th look.
func comesAfter(n int) func() bool {
	return func() bool {
		n--
		return n < 0
	}
}

// TestPatience: a wait that is short costs no look at the clock; one in time keeps
// the waiter awake next time, too; waits in vain make it sleep sooner, until a
// short sleep shows that waiting would have paid; a core that was taken away makes
// it sleep at once for a while.
func TestPatience(t *testing.T) {
	c := &clock{step: 10 * time.Microsecond}
	p := patience{stay: longestStay, now: c.now}
	never := func() bool { return false }
	awake := func() time.Duration { // how long a wait in vain lasts
		t.Helper()
		ok, begun := p.awaits(never)
		if ok {
			t.Fatal("what never comes came")
		}
		return c.at.Sub(begun)
	}
	before := c.at
	if ok, begun := p.awaits(comesAfter(firstLooks - 1)); !ok || !begun.IsZero() || c.at != before {
		t.Errorf("a short wait: %v, begun %v, clock moved %v", ok, begun, c.at.Sub(before))
	}
	if ok, begun := p.awaits(comesAfter(firstLooks + 20*looks)); !ok || begun.IsZero() {
		t.Errorf("a wait in time: %v, begun %v", ok, begun)
	}
	last := awake()
	if last < longestStay || last > longestStay+2*c.step {
		t.Errorf("awake for %v, want %v", last, longestStay)
	}
	for range 12 {
		next := awake()
		if next > last/2+2*c.step {
			t.Fatalf("after a wait of %v in vain awake for %v", last, next)
		}
		last = next
	}
	begun := c.now()
	c.at = c.at.Add(longestStay)
	if p.slept(begun); p.stay > c.step {
		t.Errorf("a long sleep earned %v", p.stay)
	}
	if p.slept(c.now()); p.stay != longestStay/4 {
		t.Errorf("a short sleep earned %v", p.stay)
	}
	if ok, _ := p.awaits(comesAfter(firstLooks + looks)); !ok || p.stay != longestStay {
		t.Errorf("a wait in time: %v, patience %v", ok, p.stay)
	}
	c.step = stolen // the core is taken away
	if awake() > 2*stolen || p.rest != restedWaits {
		t.Errorf("a stolen core: %d waits of rest", p.rest)
	}
	c.step = 10 * time.Microsecond
	for range restedWaits {
		if ok, begun := p.awaits(never); ok || c.at != begun {
			t.Fatal("awake while it should rest")
		}
	}
	if awake() < longestStay {
		t.Error("no patience after the rest")
	}
}

// TestWaitingAllocatesNothing: a barrier costs the job and its channel.
func TestWaitingAllocatesNothing(t *testing.T) {
	p := newPool(2)
	defer p.close()
	n := testing.AllocsPerRun(100, func() { p.run(4, func(int, int) {}) })
	if n > 2 {
		t.Errorf("%v allocations a barrier", n)
	}
}
