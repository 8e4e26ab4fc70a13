package bench

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/mcts"
)

// publishEvery is how many batches a worker without a net does between two looks at
// the clock.
const publishEvery = 8

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
	makeEvaluator, _, err := o.evaluators()
	if err != nil {
		return SearchResult{}, err
	}
	r := &searchRun{o: &o, published: make([]published, o.Workers)}
	group, ctx := errgroup.WithContext(ctx)
	for i := range o.Workers {
		g := newLockstep(&o, i, timed{makeEvaluator(), &r.published[i].evaluator})
		group.Go(func() error { return r.work(ctx, g, i) })
	}
	if err := group.Wait(); err != nil {
		return SearchResult{}, err
	}
	return summarizeSearch(&o, r.marks), nil
}

// searchRun is a measurement under way. The first worker reads the clock for all.
type searchRun struct {
	o         *PlayOptions
	published []published // of each worker
	marks     []searchMark
	done      atomic.Bool
}

// published is what a worker has done, for the clock.
type published struct {
	nodes, cached, terminal, depth, moves atomic.Uint64
	evaluator                             atomic.Int64 // nanoseconds
	_                                     [64]byte     // workers do not share a cache line
}

// searchMark is what all workers had done at some time.
type searchMark struct {
	at, busy                              time.Duration // at: since the start of the run
	nodes, cached, terminal, depth, moves uint64
	evaluator                             time.Duration
}

// work searches until the clock has its windows.
func (r *searchRun) work(ctx context.Context, g *lockstep, worker int) error {
	ev, batches := g.ev, publishEvery
	if r.o.Evaluator == EvaluatorNet {
		batches = 1
	}
	g.answer(&mcts.HashEvaluator{Seed: playSeed})
	for start := time.Now(); !r.done.Load(); {
		for range batches {
			if err := g.step(ctx); err != nil {
				return err
			}
		}
		if g.moves >= uint64(mixMoves*r.o.Games) && g.ev != ev {
			g.answer(ev)
		}
		r.publish(worker, g)
		if worker == 0 {
			r.look(start)
		}
	}
	return nil
}

// look ends the window under way if it is full.
func (r *searchRun) look(start time.Time) {
	now := r.mark(start)
	if n := len(r.marks); n > 0 {
		last := &r.marks[n-1]
		if now.busy-last.busy < r.o.window() || now.nodes == last.nodes {
			return
		}
	} else if now.moves < r.o.moves(mixMoves+warmMoves) {
		return
	}
	r.marks = append(r.marks, now)
	r.done.Store(len(r.marks) > playWindows)
}

// publish shows the clock what g has done.
func (r *searchRun) publish(worker int, g *lockstep) {
	p, c := &r.published[worker], g.counts()
	p.nodes.Store(c.Expanded)
	p.cached.Store(c.Cached)
	p.terminal.Store(c.Terminal)
	p.depth.Store(c.DepthSum)
	p.moves.Store(g.moves)
}

// mark adds the workers up.
func (r *searchRun) mark(start time.Time) searchMark {
	m := searchMark{at: time.Since(start), busy: busyTime(r.o.Workers)}
	for i := range r.published {
		p := &r.published[i]
		m.nodes += p.nodes.Load()
		m.cached += p.cached.Load()
		m.terminal += p.terminal.Load()
		m.depth += p.depth.Load()
		m.moves += p.moves.Load()
		m.evaluator += time.Duration(p.evaluator.Load())
	}
	return m
}

// summarizeSearch makes the result of the windows between marks, of which there are
// at least two.
func summarizeSearch(o *PlayOptions, marks []searchMark) SearchResult {
	first, last := &marks[0], &marks[len(marks)-1]
	r := SearchResult{
		PlayLabels: o.labels(), Nodes: last.nodes - first.nodes, Cached: last.cached - first.cached,
		Terminal: last.terminal - first.terminal, Moves: last.moves - first.moves,
		CPUSeconds: perSecond(last.busy - first.busy), Seconds: perSecond(last.at - first.at),
	}
	rates := make([]float64, 0, playWindows)
	for i := 1; i < len(marks); i++ {
		rates = append(rates, float64(marks[i].nodes-marks[i-1].nodes)/perSecond(marks[i].busy-marks[i-1].busy))
	}
	slices.Sort(rates)
	r.SlowestWindow, r.NodesPerCPUSecond, r.FastestWindow = rates[0], median(rates), rates[len(rates)-1]
	simulations := r.Nodes + r.Cached + r.Terminal
	r.SimulationsPerCPUSecond = float64(simulations) / r.CPUSeconds
	r.MovesPerCPUSecond = float64(r.Moves) / r.CPUSeconds
	r.MeanDepth = float64(last.depth-first.depth) / float64(max(simulations, 1))
	r.EvaluatorShare = (last.evaluator - first.evaluator).Seconds() / (r.Seconds * float64(o.Workers))
	return r
}

// median returns the middle of sorted values, of which there is one at least.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
