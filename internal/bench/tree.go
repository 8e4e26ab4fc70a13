package bench

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

const (
	treeGames = 32 // searches in lock step, one row of the batch each
	// MaxSimulations bounds the searches of a benchmark.
	MaxSimulations = 1 << 20
)

// TreeResult is the cost of a simulation without a network.
type TreeResult struct {
	Simulations int           // of each search
	Visits      int           // of one run over all searches; the same in every run
	Tree        time.Duration // selection, encoding, expansion and backup of one simulation
	Evaluator   time.Duration // the hash evaluator's share beside it
}

// TreeWork searches fixed positions with the default settings and the hash
// evaluator, for about d, and returns the least time of each part in any run.
// There is no cache: every simulation that does not end the game encodes a
// position.
func TreeWork(simulations int, d time.Duration) (TreeResult, error) {
	if err := cmp.Or(inRange("simulations", simulations, 1, MaxSimulations), checkDuration(d)); err != nil {
		return TreeResult{}, err
	}
	f := newForest(simulations)
	best := TreeResult{Simulations: simulations, Tree: math.MaxInt64, Evaluator: math.MaxInt64}
	end := time.Now().Add(d)
	for runs := 0; runs <= minRuns || time.Now().Before(end); runs++ {
		r, err := f.run()
		if err != nil {
			return TreeResult{}, err
		}
		if runs > 0 { // the first run grows memory
			best.Tree, best.Evaluator = min(best.Tree, r.Tree), min(best.Evaluator, r.Evaluator)
			best.Visits = r.Visits
		}
	}
	return best, nil
}

// forest is many searches that share batches.
type forest struct {
	cfg      mcts.Config
	searches []*mcts.Search
	batch    *encoding.Batch
	ev       mcts.HashEvaluator
}

func newForest(simulations int) *forest {
	f := &forest{cfg: mcts.DefaultConfig(), batch: encoding.NewBatch(treeGames)}
	f.cfg.Simulations = simulations
	for _, h := range Positions(treeGames, positionSeed) {
		s := mcts.New(&f.cfg, nil)
		s.Reset(h)
		f.searches = append(f.searches, s)
	}
	return f
}

// run searches every position once.
func (f *forest) run() (TreeResult, error) {
	start := time.Now()
	var evaluator time.Duration
	for _, s := range f.searches {
		s.DropTree()
		s.Begin(nil, false)
	}
	for busy := true; busy; {
		busy = false
		f.batch.Reset()
		for _, s := range f.searches {
			s.Gather(f.batch, 1)
		}
		asked := time.Now()
		if err := f.ev.Evaluate(context.Background(), f.batch); err != nil {
			return TreeResult{}, err
		}
		evaluator += time.Since(asked)
		for _, s := range f.searches {
			s.Apply(f.batch)
			busy = busy || !s.Done()
		}
	}
	whole := time.Since(start)
	visits := 0
	for _, s := range f.searches {
		visits += int(s.Root().N)
	}
	n := time.Duration(visits)
	return TreeResult{Visits: visits, Tree: (whole - evaluator) / n, Evaluator: evaluator / n}, nil
}
