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
	cfg, err := workers(o.Workers, o.Games, o.Pools, o.Simulations)
	if err != nil {
		return SelfPlayResult{}, err
	}
	cfg.CacheEntries = o.CacheEntries
	m, err := play(ctx, &o, true, func(ctx context.Context, s *seat, _ int) error {
		own := cfg
		own.Nets, own.Stats = s, &s.meter.stats
		return selfplay.Run(ctx, own)
	})
	if err != nil {
		return SelfPlayResult{}, err
	}
	return summarize(&o, m.windows), nil
}

// workers configures n self-play workers of so many games, in pools, that play for ever.
func workers(n, games, pools, simulations int) (selfplay.WorkerConfig, error) {
	cfg := selfplay.WorkerConfig{
		Game: selfplay.DefaultGameConfig(), RunSeed: playSeed, Parallel: games, Pools: pools, CacheEntries: selfplay.DefaultCacheEntries,
		Tickets: selfplay.NewTickets(0, math.MaxInt64), Sink: discard{},
	}
	cfg.Game.Search.Simulations = simulations
	var err error
	cfg.Game.Openings, err = staggered(games*n, cfg.Game.MaxPlies)
	return cfg, err
}

// mixer is the quick evaluator of the moves before the warm-up.
func mixer() selfplay.Net {
	return selfplay.Net{ID: EvaluatorHash, Evaluator: &mcts.HashEvaluator{Seed: playSeed}}
}

// play lets workers work until all windows are full; with the net those of playing
// alternate, if asked for, with windows of pure inference.
func play(parent context.Context, o *PlayOptions, alternate bool, work func(ctx context.Context, s *seat, worker int) error) (*meter, error) {
	makeEvaluator, id, err := o.evaluators()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(parent)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	m := &meter{ctx: ctx, o: o, stop: stop, start: time.Now(), meet: barrier{n: o.Workers, open: make(chan struct{})}}
	m.began = m.now()
	for i := range o.Workers {
		s := &seat{meter: m, first: i == 0, mixer: mixer(), net: selfplay.Net{ID: id, Evaluator: timed{makeEvaluator(), &m.spent}, Generation: 1}}
		if alternate && o.Evaluator == EvaluatorNet {
			s.pure, s.batch = makeEvaluator(), inferenceBatch(o.batch(), i)
		}
		group.Go(func() error { return work(ctx, s, i) })
	}
	err = group.Wait()
	switch {
	case parent.Err() != nil:
		return nil, context.Cause(parent)
	case errors.Is(err, selfplay.ErrStopped) || errors.Is(err, context.Canceled):
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
			walk(line, rng, phasePlies, maxPlies, false)
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
	all := played(windows)
	r := SelfPlayResult{PlayLabels: o.labels(), Moves: all.n[nPlies], CPUSeconds: all.busy.Seconds(), Seconds: all.at.Seconds()}
	var rates, pure, ratios []float64
	for _, w := range windows {
		d, after := w.to.since(w.from), w.end.since(w.to)
		rate := float64(d.n[nEvaluations]) / perSecond(d.busy)
		rates = append(rates, rate)
		if after.n[nBoards] > 0 {
			inferred := float64(after.n[nBoards]) / perSecond(after.busy)
			pure, ratios = append(pure, inferred), append(ratios, rate/inferred)
		}
	}
	moves, answered := float64(max(r.Moves, 1)), float64(all.n[nEvaluations])
	r.PositionsPerSecond, r.EvaluationsPerSecond = moves/r.Seconds, answered/r.Seconds
	r.EvaluationsPerMove = answered / moves
	_, r.EvaluationsPerCPUSecond, _ = spread(rates)
	r.MovesPerCPUSecond = float64(r.Moves) / r.CPUSeconds
	r.MeanBatch = answered / float64(max(all.n[nBatches], 1))
	r.CacheHits = float64(all.n[nHits]) / float64(max(all.n[nLookups], 1))
	r.EvaluatorShare = all.evaluator.Seconds() / (r.Seconds * float64(o.Workers))
	if len(ratios) > 0 {
		_, r.InferencePerCPUSecond, _ = spread(pure)
		r.RatioLow, r.Ratio, r.RatioHigh = spread(ratios)
	}
	return r
}
