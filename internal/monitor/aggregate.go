package monitor

import "math/bits"

// Aggregator keeps sums over the last 1, 2, 4, 8, ... ticks in one value each:
// bucket k holds the newest complete group of 2^k ticks, groups being aligned to
// multiples of 2^k from the first tick (lczero-training's exponential
// aggregator). It needs log2(ticks) values, whatever the history. Not safe for
// concurrent use.
type Aggregator[T any] struct {
	merge   func(older, newer T) T
	ticks   uint64
	buckets []T
}

// NewAggregator returns an empty aggregator; merge adds a value to an older one.
func NewAggregator[T any](merge func(older, newer T) T) *Aggregator[T] {
	return &Aggregator[T]{merge: merge}
}

// Tick adds the value of one tick.
func (a *Aggregator[T]) Tick(v T) {
	a.ticks++
	for k := 0; ; k++ {
		if k == len(a.buckets) {
			a.buckets = append(a.buckets, v)
			return
		}
		older := a.buckets[k]
		a.buckets[k] = v
		if a.ticks>>k&1 == 1 { // first half of a group of 2^(k+1)
			return
		}
		v = a.merge(older, v)
	}
}

// AtMost returns the value of the longest bucket of at most n ticks, and how
// many ticks it covers; 0 without any.
func (a *Aggregator[T]) AtMost(n int) (v T, ticks int) {
	k := min(len(a.buckets), bits.Len(uint(max(n, 0)))) - 1
	if k < 0 {
		return v, 0
	}
	return a.buckets[k], 1 << k
}
