package monitor

import (
	"sync"
	"time"
)

// Meter turns growing totals into rates over the last seconds. It is safe for
// concurrent use. The zero value has seen nothing.
type Meter struct {
	mu   sync.Mutex
	seen []reading // a tick or more apart, the oldest first: the newest that is as old as meterSpan, and those after it
}

// reading is what totals were at a time.
type reading struct {
	at     time.Time
	totals Totals
}

// meterTick is the least time between two readings, and meterSpan that over which rates
// are taken.
const (
	meterTick = time.Second
	meterSpan = 32 * meterTick
)

// span is how much totals grew in a time.
type span struct {
	time   time.Duration
	growth Totals
}

// Observe takes the totals at a time, and returns the rates of the last seconds: over 32
// seconds, or as much longer as nobody asked, or since the first call.
func (m *Meter) Observe(now time.Time, t Totals) Rates {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.seen) > 1 && now.Sub(m.seen[1].at) >= meterSpan {
		m.seen = m.seen[1:]
	}
	if n := len(m.seen); n == 0 || now.Sub(m.seen[n-1].at) >= meterTick {
		m.seen = append(m.seen, reading{now, t})
	}
	first := m.seen[0]
	return span{now.Sub(first.at), t.minus(first.totals)}.rates()
}

// Over returns the mean rates of totals that grew from zero in a time.
func (t Totals) Over(d time.Duration) Rates { return span{time: d, growth: t}.rates() }

// minus works field by field.
func (t Totals) minus(o Totals) Totals {
	return Totals{t.Games - o.Games, t.Positions - o.Positions, t.Evaluations - o.Evaluations, t.Batches - o.Batches,
		t.CacheHits - o.CacheHits, t.CacheProbes - o.CacheProbes, t.Steps - o.Steps, t.Rows - o.Rows}
}

// rates divides growth by time; without time or probes they are 0.
func (s span) rates() Rates {
	per := func(n int64) Number { return ratio(float64(n), s.time.Seconds()) }
	g := s.growth
	return Rates{
		GamesPerSecond: per(g.Games), PositionsPerSecond: per(g.Positions), EvaluationsPerSecond: per(g.Evaluations),
		StepsPerSecond: per(g.Steps), RowsPerSecond: per(g.Rows),
		MeanBatch:     ratio(float64(g.Evaluations), float64(g.Batches)),
		CacheHitShare: ratio(float64(g.CacheHits), float64(g.CacheProbes)),
	}
}

func ratio(a, b float64) Number {
	if b <= 0 {
		return 0
	}
	return Number(a / b)
}
