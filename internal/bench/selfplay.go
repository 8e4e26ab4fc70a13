package bench

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/selfplay"
)

// SelfPlay measures o.Workers self-play workers with the default settings of games.
// With the net, windows of self-play alternate with windows (half as long) in which
// the same goroutines do nothing but evaluate full batches in their own evaluators of
// the same net, so that a machine whose speed drifts changes both alike.
//
// The first games start in all phases (positions from random play). Nothing is counted
// before each game has had mixMoves moves with a quick evaluator and warmMoves with
// the one that is measured, in the mean. Finished games are thrown away, and new ones
// begin in their places.
func SelfPlay(ctx context.Context, o PlayOptions) (SelfPlayResult, error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return SelfPlayResult{}, err
	}
	m, err := play(ctx, &o)
	if err != nil {
		return SelfPlayResult{}, err
	}
	return summarize(&o, m.windows), nil
}

// play runs the workers until all windows are full.
func play(parent context.Context, o *PlayOptions) (*meter, error) {
	makeEvaluator, id, err := o.evaluators()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(parent)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	m := newMeter(ctx, o, stop)
	cfg := selfplay.WorkerConfig{
		Game: selfplay.DefaultGameConfig(), RunSeed: playSeed, Parallel: o.Games, Pools: o.Pools, CacheEntries: o.CacheEntries,
		Tickets: selfplay.NewTickets(0, math.MaxInt64), Sink: discard{}, Stats: &m.stats,
	}
	cfg.Game.Search.Simulations = o.Simulations
	if cfg.Game.Openings, err = staggered(o.Games*o.Workers, cfg.Game.MaxPlies); err != nil {
		return nil, err
	}
	for i := range o.Workers {
		own := cfg
		seat := &seat{
			meter: m, first: i == 0, mixer: selfplay.Net{ID: EvaluatorHash, Evaluator: &mcts.HashEvaluator{Seed: playSeed}},
			net: selfplay.Net{ID: id, Evaluator: timed{makeEvaluator(), &m.spent}, Generation: 1},
		}
		if o.Evaluator == EvaluatorNet {
			seat.pure, seat.batch = makeEvaluator(), inferenceBatch(o.batch(), i)
		}
		own.Nets = seat
		group.Go(func() error { return selfplay.Run(ctx, own) })
	}
	err = group.Wait()
	switch {
	case parent.Err() != nil:
		return nil, context.Cause(parent)
	case errors.Is(err, selfplay.ErrStopped):
		return m, m.failed
	case err == nil:
		return nil, errors.New("the self-play workers ended before they were told to")
	}
	return nil, err
}

// laterGames is how many games begin at the normal start for each that begins in the
// middle, before the list of starts comes round again: more than a measurement plays.
const laterGames = 100

// staggered returns openings whose first n games begin in all phases of a game.
func staggered(n, maxPlies int) (*selfplay.Openings, error) {
	rng := rand.New(rand.NewPCG(playSeed, math.MaxUint64))
	starts := make([]selfplay.Start, n*(1+laterGames))
	line := chess.NewHistory(chess.StartBoard())
	for i := range starts {
		starts[i] = selfplay.Start{Board: chess.StartBoard(), Weight: 1}
		if i < n {
			phase(line, rng, maxPlies)
			starts[i].Board = *line.Board()
		}
	}
	return selfplay.NewOpenings(starts, selfplay.OrderSequential, 0)
}

// discard is a sink that keeps nothing.
type discard struct{}

// Put drops the game.
func (discard) Put(context.Context, *record.Game) error { return nil }

// perSecond returns d in seconds as a divisor: at least a nanosecond.
func perSecond(d time.Duration) float64 { return max(d, 1).Seconds() }
