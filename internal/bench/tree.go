package bench

import (
	"cmp"
	"context"
	"math"
	"sync/atomic"
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
	cfg := mcts.DefaultConfig()
	cfg.Simulations = simulations
	var searches []*mcts.Search
	for _, h := range Positions(treeGames, positionSeed) {
		s := mcts.New(&cfg, nil)
		s.Reset(h)
		searches = append(searches, s)
	}
	batch := encoding.NewBatch(treeGames)
	if _, err := searchAll(searches, batch); err != nil { // not counted: it grows memory
		return TreeResult{}, err
	}
	best := TreeResult{Simulations: simulations, Tree: math.MaxInt64, Evaluator: math.MaxInt64}
	err := again(d, minRuns, func() error {
		r, err := searchAll(searches, batch)
		best.Visits, best.Tree, best.Evaluator = r.Visits, min(best.Tree, r.Tree), min(best.Evaluator, r.Evaluator)
		return err
	})
	return best, err
}

// searchAll searches every position once; the searches share batches.
func searchAll(searches []*mcts.Search, batch *encoding.Batch) (r TreeResult, err error) {
	start := time.Now()
	var spent atomic.Int64
	ev := timed{&mcts.HashEvaluator{}, &spent}
	for _, s := range searches {
		s.DropTree()
		s.Begin(nil, false)
	}
	for busy := true; busy; {
		busy = false
		batch.Reset()
		for _, s := range searches {
			s.Gather(batch, 1)
		}
		if err := ev.Evaluate(context.Background(), batch); err != nil {
			return r, err
		}
		for _, s := range searches {
			s.Apply(batch)
			busy = busy || !s.Done()
		}
	}
	whole, evaluator := time.Since(start), time.Duration(spent.Load())
	for _, s := range searches {
		r.Visits += int(s.Root().N)
	}
	n := time.Duration(r.Visits)
	r.Tree, r.Evaluator = (whole-evaluator)/n, evaluator/n
	return r, nil
}
