package train

import "time"

// patience is how long a goroutine that waits for another one stays awake. A step
// has dozens of barriers a few hundred microseconds apart, and a sleeper comes a
// hundred microseconds late: on a quiet machine it is best to stay awake from
// barrier to barrier. Where players want the core it is best not to, and the
// waits tell the two apart: one that ends in time earns the next more patience,
// one in vain costs half of it, and one in which the core was taken away costs
// all of it for a while. It never yields: behind a player's goroutine the waiter
// would come back milliseconds later.
type patience struct {
	stay time.Duration    // how long the next wait stays awake, beyond the first looks
	rest int              // waits still to be made without staying awake
	now  func() time.Time // time.Now, but for tests
}

const (
	firstLooks  = 2000                   // of every wait, some 10 microseconds
	looks       = 500                    // between two looks at the clock
	longestStay = 600 * time.Microsecond // more than any gap between two barriers of a step
	stolen      = 200 * time.Microsecond // between two looks at the clock: another thread had the core
	restedWaits = 200                    // some steps
)

func newPatience() patience { return patience{stay: longestStay, now: time.Now} }

// awaits looks until ready or until its patience ends, and says whether it is ready.
// begun is when the first looks were over; zero if they were enough.
func (p *patience) awaits(ready func() bool) (ok bool, begun time.Time) {
	for range firstLooks {
		if ready() {
			return true, begun
		}
	}
	begun = p.now()
	if p.rest > 0 {
		p.rest--
		return false, begun
	}
	for last := begun; ; {
		for range looks {
			if ready() {
				p.stay = longestStay
				return true, begun
			}
		}
		now := p.now()
		if now.Sub(last) >= stolen {
			p.rest = restedWaits
			return false, begun
		}
		if now.Sub(begun) >= p.stay {
			p.stay /= 2
			return false, begun
		}
		last = now
	}
}

// slept takes note of a wait that ended asleep: one that staying awake would have
// caught earns some patience back.
func (p *patience) slept(begun time.Time) {
	if p.now().Sub(begun) < longestStay {
		p.stay = max(p.stay, longestStay/4)
	}
}
