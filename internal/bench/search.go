package bench

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/selfplay"
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

// publishEvery is how many batches a worker without a net does between two looks at
// the clock.
const publishEvery = 8

// lockstep is the trees of one worker, which it searches in lock step and whose games
// it plays on for ever, as self-play does but without records.
type lockstep struct {
	cfg   selfplay.GameConfig
	trees []*mcts.Search
	rng   *rand.Rand
	batch *encoding.Batch
	cache *mcts.Cache
	ev    mcts.Evaluator

	moves   uint64         // played so far
	line    *chess.History // scratch of begin
	list    chess.MoveList // scratch of play
	weights []float64      // scratch of pick
}

// newLockstep begins games in all phases.
func newLockstep(o *PlayOptions, worker int, ev mcts.Evaluator) *lockstep {
	l := &lockstep{
		cfg: selfplay.DefaultGameConfig(), rng: rand.New(rand.NewPCG(playSeed, uint64(worker))),
		batch: encoding.NewBatch(o.Games), ev: ev, line: chess.NewHistory(chess.StartBoard()),
	}
	l.cfg.Search.Simulations = o.Simulations
	l.cache = mcts.NewCache(o.CacheEntries)
	for range o.Games {
		s := mcts.New(&l.cfg.Search, l.cache)
		walk(l.line, l.rng, phasePlies, l.cfg.MaxPlies, false)
		s.Reset(l.line)
		s.Begin(l.rng, l.cfg.Noise)
		l.trees = append(l.trees, s)
	}
	return l
}

// step brings every tree to a leaf that waits, has the batch answered and applies it.
func (l *lockstep) step(ctx context.Context) error {
	l.batch.Reset()
	for _, s := range l.trees {
		for s.Gather(l.batch, 1) == 0 {
			if err := ctx.Err(); err != nil { // a game may go far on cached answers
				return err
			}
			l.play(s)
		}
	}
	if err := l.ev.Evaluate(ctx, l.batch); err != nil {
		return err
	}
	for _, s := range l.trees {
		s.Apply(l.batch)
	}
	return nil
}

// work searches until ctx ends, with the evaluator that the seat names, and tells the
// meter what it does. It asks the seat for every few batches of a quick evaluator.
func (l *lockstep) work(ctx context.Context, s *seat) error {
	m, few := s.meter, uint64(publishEvery)
	if m.o.Evaluator == EvaluatorNet {
		few = 1
	}
	var told mcts.Counts
	for moves := uint64(0); ctx.Err() == nil; moves = l.moves {
		if net := s.Current(); net.Evaluator != l.ev {
			l.ev = net.Evaluator
			l.cache.Clear()
		}
		for range few {
			if err := l.step(ctx); err != nil {
				return err
			}
		}
		now := l.counts()
		m.trees[nNodes].Add(now.Expanded - told.Expanded)
		m.trees[nCached].Add(now.Cached - told.Cached)
		m.trees[nTerminal].Add(now.Terminal - told.Terminal)
		m.trees[nDepth].Add(now.DepthSum - told.DepthSum)
		m.stats.Batches.Add(few)
		m.stats.Positions.Add(l.moves - moves)
		told = now
	}
	return ctx.Err()
}

// play plays the move of a finished search and begins the next one, in a new game
// where this one is over.
func (l *lockstep) play(s *mcts.Search) {
	l.moves++
	root := s.Root()
	s.Advance(root.Moves[l.pick(&root, s.History().Len()-1)].Move)
	if overAt(s.History(), &l.list, l.cfg.MaxPlies) {
		walk(l.line, l.rng, openingPlies, openingPlies, false)
		s.Reset(l.line)
	}
	s.Begin(l.rng, l.cfg.Noise)
}

// pick chooses the move as self-play does by default.
func (l *lockstep) pick(root *mcts.RootStats, ply int) int {
	if l.rng.Float64() < l.cfg.ExplorationRate {
		return l.rng.IntN(len(root.Moves))
	}
	l.weights = l.weights[:0]
	for i := range root.Moves {
		l.weights = append(l.weights, float64(root.Moves[i].N))
	}
	return max(0, mcts.SampleWeights(l.weights, l.cfg.Temperature.At(ply), l.rng)) // without visits the first
}

// counts returns what all trees have done.
func (l *lockstep) counts() (sum mcts.Counts) {
	for _, s := range l.trees {
		c := s.Counts()
		sum.Expanded += c.Expanded
		sum.Cached += c.Cached
		sum.Terminal += c.Terminal
		sum.DepthSum += c.DepthSum
	}
	return sum
}

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
