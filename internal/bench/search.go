package bench

import (
	"context"
	"slices"
)

// SearchResult is the speed of the tree search. A node is a simulation that ended
// at a new position with the evaluator's answer: legal moves, masks, policy indices,
// expansion and backup. Simulations that ended with the cache's answer (the same
// work, less the batch) or where the outcome needs no network are counted apart.
type SearchResult struct {
	PlayLabels
	NodesPerCPUSecond       float64 `json:"nodes_per_cpu_s"`      // median of the windows
	SlowestWindow           float64 `json:"nodes_per_cpu_s_low"`  // lowest and
	FastestWindow           float64 `json:"nodes_per_cpu_s_high"` // highest window
	SimulationsPerCPUSecond float64 `json:"simulations_per_cpu_s"`
	MovesPerCPUSecond       float64 `json:"moves_per_cpu_s"`
	Nodes                   uint64  `json:"nodes"` // of all windows, like all that follows
	Cached                  uint64  `json:"cached"`
	Terminal                uint64  `json:"terminal"`
	Moves                   uint64  `json:"moves"`
	MeanDepth               float64 `json:"mean_depth"`      // plies from the root to where simulations ended
	EvaluatorShare          float64 `json:"evaluator_share"` // of the workers' time, 0..1
	CPUSeconds              float64 `json:"cpu_seconds"`
	Seconds                 float64 `json:"seconds"`
}

// Search measures trees that are searched in lock step, o.Games of each worker, each
// tree's moves played with the default settings of self-play (noise, temperature,
// the subtree of the move kept), and a new game begun from a few random plies where
// one is over. The first games begin in all phases. Nothing is counted before each
// game has had mixMoves moves with the hash evaluator and warmMoves with the one that
// is measured, in the mean: caches, arenas and reused trees are in their stride then.
// Everything that the process does in a window counts, garbage collection too.
func Search(ctx context.Context, o PlayOptions) (SearchResult, error) {
	o.Pools = 1
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return SearchResult{}, err
	}
	m, err := play(ctx, &o, false, func(ctx context.Context, s *seat, i int) error {
		return newLockstep(&o, i, nil).work(ctx, s)
	})
	if err != nil {
		return SearchResult{}, err
	}
	return summarizeSearch(&o, m.windows), nil
}

// summarizeSearch makes the result of the counted windows, of which there is at least
// one.
func summarizeSearch(o *PlayOptions, windows []window) SearchResult {
	all := played(windows)
	r := SearchResult{PlayLabels: o.labels(), Nodes: all.n[nNodes], Cached: all.n[nCached], Terminal: all.n[nTerminal], Moves: all.n[nPlies],
		CPUSeconds: all.busy.Seconds(), Seconds: all.at.Seconds()}
	var rates []float64
	for _, w := range windows {
		d := w.to.since(w.from)
		rates = append(rates, float64(d.n[nNodes])/perSecond(d.busy))
	}
	r.SlowestWindow, r.NodesPerCPUSecond, r.FastestWindow = spread(rates)
	simulations := r.Nodes + r.Cached + r.Terminal
	r.SimulationsPerCPUSecond = float64(simulations) / r.CPUSeconds
	r.MovesPerCPUSecond = float64(r.Moves) / r.CPUSeconds
	r.MeanDepth = float64(all.n[nDepth]) / float64(max(simulations, 1))
	r.EvaluatorShare = all.evaluator.Seconds() / (r.Seconds * float64(o.Workers))
	return r
}

// spread sorts values, of which there is one at least, and returns the lowest, the median
// and the highest.
func spread(values []float64) (low, median, high float64) {
	slices.Sort(values)
	n := len(values)
	return values[0], (values[(n-1)/2] + values[n/2]) / 2, values[n-1]
}
