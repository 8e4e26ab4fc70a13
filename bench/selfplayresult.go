package bench

import (
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// summarize returns the fastest window between marks, of which there are at
// least two.
func summarize(o *SelfPlayOptions, marks []mark) SelfPlayResult {
	r := SelfPlayResult{
		Tier: kernel.ActiveTier().String(), Precision: Precision(o.Precision).String(), Net: o.Arch.String(),
		Simulations: o.Simulations, Games: o.Games,
	}
	for i := 1; i < len(marks); i++ {
		from, to := &marks[i-1], &marks[i]
		seconds := max(to.at.Sub(from.at).Seconds(), 1e-9)
		speed := float64(to.positions-from.positions) / seconds
		if speed <= r.PositionsPerSecond {
			continue
		}
		evaluations := float64(to.evaluations - from.evaluations)
		r.PositionsPerSecond, r.EvaluationsPerSecond = speed, evaluations/seconds
		r.MeanBatch = evaluations / float64(to.batches-from.batches)
	}
	first, last := &marks[0], &marks[len(marks)-1]
	if n := last.lookups - first.lookups; n > 0 {
		r.CacheHits = float64(last.hits-first.hits) / float64(n)
	}
	r.Seconds = last.at.Sub(first.at).Seconds()
	return r
}
