package bench

import (
	"context"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/selfplay"
)

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
		walk(l.line, l.rng, phasePlies, l.cfg.MaxPlies)
		s.Reset(l.line)
		s.Begin(l.rng, l.cfg.Noise)
		l.trees = append(l.trees, s)
	}
	return l
}

// answer lets ev answer from now on.
func (l *lockstep) answer(ev mcts.Evaluator) {
	l.ev = ev
	l.cache.Clear()
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
			l.answer(net.Evaluator)
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
		walk(l.line, l.rng, openingPlies, openingPlies)
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
