package bench

import (
	"context"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/selfplay"
)

// grove is the trees of one worker, which it searches in lock step and whose games
// it plays on for ever, as self-play does but without records.
type grove struct {
	cfg   selfplay.GameConfig
	trees []*mcts.Search
	rng   *rand.Rand
	batch *encoding.Batch
	cache *mcts.Cache
	ev    mcts.Evaluator

	moves  uint64         // played so far
	line   *chess.History // scratch of begin
	list   chess.MoveList // scratch of play
	visits []uint32       // scratch of pick
}

// newGrove begins games in all phases.
func newGrove(o *PlayOptions, worker int, ev mcts.Evaluator) *grove {
	g := &grove{
		cfg: selfplay.DefaultGameConfig(), rng: rand.New(rand.NewPCG(playSeed, uint64(worker))),
		batch: encoding.NewBatch(o.Games), ev: ev, line: chess.NewHistory(chess.StartBoard()),
	}
	g.cfg.Search.Simulations = o.Simulations
	g.cache = mcts.NewCache(o.CacheEntries)
	for range o.Games {
		s := mcts.New(&g.cfg.Search, g.cache)
		phase(g.line, g.rng, g.cfg.MaxPlies)
		s.Reset(g.line)
		s.Begin(g.rng, g.cfg.Noise)
		g.trees = append(g.trees, s)
	}
	return g
}

// answer lets ev answer from now on.
func (g *grove) answer(ev mcts.Evaluator) {
	g.ev = ev
	g.cache.Clear()
}

// step brings every tree to a leaf that waits, has the batch answered and applies it.
func (g *grove) step(ctx context.Context) error {
	g.batch.Reset()
	for _, s := range g.trees {
		for s.Gather(g.batch, 1) == 0 {
			if err := ctx.Err(); err != nil { // a game may go far on cached answers
				return err
			}
			g.play(s)
		}
	}
	if err := g.ev.Evaluate(ctx, g.batch); err != nil {
		return err
	}
	for _, s := range g.trees {
		s.Apply(g.batch)
	}
	return nil
}

// play plays the move of a finished search and begins the next one, in a new game
// where this one is over.
func (g *grove) play(s *mcts.Search) {
	g.moves++
	root := s.Root()
	s.Advance(root.Moves[g.pick(&root, s.History().Len()-1)].Move)
	if overAt(s.History(), &g.list, g.cfg.MaxPlies) {
		opening(g.line, g.rng)
		s.Reset(g.line)
	}
	s.Begin(g.rng, g.cfg.Noise)
}

// pick chooses the move as self-play does by default.
func (g *grove) pick(root *mcts.RootStats, ply int) int {
	if g.rng.Float64() < g.cfg.ExplorationRate {
		return g.rng.IntN(len(root.Moves))
	}
	g.visits = g.visits[:0]
	for i := range root.Moves {
		g.visits = append(g.visits, root.Moves[i].N)
	}
	return mcts.SampleVisits(g.visits, g.cfg.Temperature.At(ply), g.rng)
}

// counts returns what all trees have done.
func (g *grove) counts() (sum mcts.Counts) {
	for _, s := range g.trees {
		c := s.Counts()
		sum.Expanded += c.Expanded
		sum.Cached += c.Cached
		sum.Terminal += c.Terminal
		sum.DepthSum += c.DepthSum
	}
	return sum
}
