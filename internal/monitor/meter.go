package monitor

import (
	"sync"
	"time"
)

// Meter turns growing totals into rates over the last seconds. It is safe for
// concurrent use. The zero value has seen nothing.
type Meter struct {
	mu   sync.Mutex
	last Totals    // at the newest tick, or the first Observe
	at   time.Time // of that; zero before it

	// Sums over the last 1, 2, 4, 8, ... ticks: bucket k holds the newest complete group
	// of 2^k ticks, groups being aligned to multiples of 2^k from the first tick
	// (lczero-training's exponential aggregator).
	ticks   uint64
	buckets []span
}

// meterTick is the shortest time that makes a tick, and meterBucket the longest bucket
// that rates are taken from: 32 ticks.
const (
	meterTick   = time.Second
	meterBucket = 5
)

// span is how much totals grew in a time.
type span struct {
	time   time.Duration
	growth Totals
}

// tick adds the growth of one tick.
func (m *Meter) tick(s span) {
	m.ticks++
	for k := 0; k < len(m.buckets); k++ {
		older := m.buckets[k]
		m.buckets[k] = s
		if m.ticks>>k&1 == 1 { // first half of a group of 2^(k+1)
			return
		}
		s = span{older.time + s.time, older.growth.plus(s.growth)}
	}
	m.buckets = append(m.buckets, s)
}

// Observe takes the totals at a time, and returns the rates of the last seconds:
// over at most 32 ticks of a second or more, or, before the first tick, since
// the first call.
func (m *Meter) Observe(now time.Time, t Totals) Rates {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at.IsZero() {
		m.at, m.last = now, t
	}
	grown := span{time: now.Sub(m.at), growth: t.minus(m.last)}
	if grown.time >= meterTick {
		m.tick(grown)
		m.at, m.last = now, t
	}
	if k := min(len(m.buckets)-1, meterBucket); k >= 0 {
		return m.buckets[k].rates()
	}
	return grown.rates()
}

// Over returns the mean rates of totals that grew from zero in a time.
func (t Totals) Over(d time.Duration) Rates { return span{time: d, growth: t}.rates() }

// plus and minus work field by field.
func (t Totals) plus(o Totals) Totals {
	return Totals{t.Games + o.Games, t.Positions + o.Positions, t.Evaluations + o.Evaluations, t.Batches + o.Batches,
		t.CacheHits + o.CacheHits, t.CacheProbes + o.CacheProbes, t.Steps + o.Steps, t.Rows + o.Rows}
}

func (t Totals) minus(o Totals) Totals {
	return t.plus(Totals{-o.Games, -o.Positions, -o.Evaluations, -o.Batches, -o.CacheHits, -o.CacheProbes, -o.Steps, -o.Rows})
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
