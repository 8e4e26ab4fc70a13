package bench

import "slices"

// SelfPlayResult is the speed of self-play. Rates are totals over all counted windows
// of self-play, unless they say otherwise; an evaluation is a position that the
// evaluator answered, so that what the cache knew is not one.
type SelfPlayResult struct {
	PlayLabels
	PositionsPerSecond      float64 `json:"positions_per_s"` // moves played = training rows; wall clock
	EvaluationsPerSecond    float64 `json:"evaluations_per_s"`
	MovesPerCPUSecond       float64 `json:"moves_per_cpu_s"`
	EvaluationsPerCPUSecond float64 `json:"evaluations_per_cpu_s"` // median of the windows
	EvaluationsPerMove      float64 `json:"evaluations_per_move"`
	Moves                   uint64  `json:"moves"`
	MeanBatch               float64 `json:"mean_batch"`      // evaluations of a batch
	CacheHits               float64 `json:"cache_hits"`      // share of the lookups, 0..1
	EvaluatorShare          float64 `json:"evaluator_share"` // of the workers' time, 0..1: network; the rest is the tree
	// With the net: boards of full batches in the windows between, and the median,
	// lowest and highest quotient of the two rates of neighbouring windows.
	InferencePerCPUSecond float64 `json:"inference_per_cpu_s,omitempty"`
	Ratio                 float64 `json:"ratio,omitempty"`
	RatioLow              float64 `json:"ratio_low,omitempty"`
	RatioHigh             float64 `json:"ratio_high,omitempty"`
	CPUSeconds            float64 `json:"cpu_seconds"`
	Seconds               float64 `json:"seconds"`
}

// summarize makes the result of the counted windows, of which there is at least one.
func summarize(o *PlayOptions, windows []window) SelfPlayResult {
	r := SelfPlayResult{PlayLabels: o.labels()}
	var evaluations, batches, hits, lookups uint64
	var evaluator float64
	var rates, pure, ratios []float64
	for i := range windows {
		from, to, end := &windows[i].from, &windows[i].to, &windows[i].end
		busy := perSecond(to.busy - from.busy)
		r.CPUSeconds += busy
		r.Seconds += perSecond(to.at.Sub(from.at))
		r.Moves += to.plies - from.plies
		evaluations += to.evaluations - from.evaluations
		batches += to.batches - from.batches
		hits += to.hits - from.hits
		lookups += to.lookups - from.lookups
		evaluator += (to.evaluator - from.evaluator).Seconds()
		played := float64(to.evaluations-from.evaluations) / busy
		rates = append(rates, played)
		if boards := end.boards - to.boards; boards > 0 {
			inferred := float64(boards) / perSecond(end.busy-to.busy)
			pure, ratios = append(pure, inferred), append(ratios, played/inferred)
		}
	}
	moves := float64(max(r.Moves, 1))
	r.PositionsPerSecond, r.EvaluationsPerSecond = moves/r.Seconds, float64(evaluations)/r.Seconds
	r.EvaluationsPerMove = float64(evaluations) / moves
	r.EvaluationsPerCPUSecond = middle(rates)
	r.MovesPerCPUSecond = float64(r.Moves) / r.CPUSeconds
	r.MeanBatch = float64(evaluations) / float64(max(batches, 1))
	r.CacheHits = float64(hits) / float64(max(lookups, 1))
	r.EvaluatorShare = evaluator / (r.Seconds * float64(o.Workers))
	if len(ratios) > 0 {
		r.InferencePerCPUSecond, r.Ratio = middle(pure), middle(ratios)
		r.RatioLow, r.RatioHigh = slices.Min(ratios), slices.Max(ratios)
	}
	return r
}

// middle sorts values, of which there is one at least, and returns their median.
func middle(values []float64) float64 {
	slices.Sort(values)
	return median(values)
}
