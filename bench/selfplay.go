package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/selfplay"
)

const (
	// playWindows is how many runs a self-play measurement is cut into; the
	// fastest counts. One more goes before them uncounted: all games begin at
	// once, where the cache knows nearly everything.
	playWindows = 4
	playSeed    = 1
	// MaxGames bounds the games in lock step.
	MaxGames = 4096
)

// SelfPlayOptions says how to play.
type SelfPlayOptions struct {
	Arch        nn.Arch
	Simulations int           // of each search, 1..MaxSimulations
	Games       int           // in lock step, 1..MaxGames
	Precision   string        // as in Options
	Duration    time.Duration // of all counted windows, about
}

// Validate says what is out of range; the error wraps ErrOptions.
func (o *SelfPlayOptions) Validate() error {
	if err := o.Arch.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if o.Simulations < 1 || o.Simulations > MaxSimulations {
		return fmt.Errorf("%w: %d simulations, want 1 to %d", ErrOptions, o.Simulations, MaxSimulations)
	}
	if o.Games < 1 || o.Games > MaxGames {
		return fmt.Errorf("%w: %d games, want 1 to %d", ErrOptions, o.Games, MaxGames)
	}
	if err := checkPrecision(o.Precision); err != nil {
		return err
	}
	return checkDuration(o.Duration)
}

// SelfPlayResult is the speed of one worker on one core, of the window with most
// positions a second; the cache's share is that of all counted windows.
type SelfPlayResult struct {
	Tier                 string  `json:"tier"`
	Precision            string  `json:"precision"`
	Net                  string  `json:"net"`
	Simulations          int     `json:"simulations"`
	Games                int     `json:"games"`           // in lock step
	PositionsPerSecond   float64 `json:"positions_per_s"` // moves played = training rows
	EvaluationsPerSecond float64 `json:"evaluations_per_s"`
	MeanBatch            float64 `json:"mean_batch"` // evaluations of a batch
	CacheHits            float64 `json:"cache_hits"` // share of the lookups, 0..1
	Seconds              float64 `json:"seconds"`    // of all counted windows
}

// SelfPlay lets one worker with a fresh net play with the default settings for
// o.Duration and a quarter more, in the active tier. Finished games are thrown
// away, and new ones begin in their places.
func SelfPlay(ctx context.Context, o SelfPlayOptions) (SelfPlayResult, error) {
	if err := o.Validate(); err != nil {
		return SelfPlayResult{}, err
	}
	all := Options{Arch: o.Arch, Batch: o.Games, Threads: 1, Duration: o.Duration}
	var r SelfPlayResult
	err := all.inTier(func() error {
		marks, err := play(ctx, &o)
		if err == nil {
			r = summarize(&o, marks)
		}
		return err
	})
	return r, err
}

// play runs the worker and returns the counts at the edges of the windows.
func play(parent context.Context, o *SelfPlayOptions) ([]mark, error) {
	net, err := cpu.New(nn.Init(o.Arch, netSeed), Precision(o.Precision))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(parent)
	defer stop()
	cfg := selfplay.WorkerConfig{
		Game: selfplay.DefaultGameConfig(), RunSeed: playSeed, Parallel: o.Games, CacheEntries: selfplay.DefaultCacheEntries,
		Tickets: selfplay.NewTickets(0, math.MaxInt64), Sink: discard{}, Stats: new(selfplay.Stats),
	}
	cfg.Game.Search.Simulations = o.Simulations
	c := &clock{id: net.ID(), ev: net.NewEvaluator(o.Games), stats: cfg.Stats, window: max(o.Duration/playWindows, 1), stop: stop}
	cfg.Nets = c
	err = selfplay.Run(ctx, cfg)
	switch {
	case parent.Err() != nil:
		return nil, context.Cause(parent)
	case errors.Is(err, selfplay.ErrStopped):
		return c.marks, nil
	}
	return nil, err
}

// mark is what the worker had done at some time.
type mark struct {
	at                                             time.Time
	positions, evaluations, batches, hits, lookups uint64
}

// clock is the worker's net source. Because the worker asks it before every
// batch, it sees the counters between two batches; it stops the worker when all
// windows are full.
type clock struct {
	id     string
	ev     mcts.Evaluator
	stats  *selfplay.Stats
	window time.Duration
	stop   context.CancelFunc
	last   mark   // where the window under way began
	marks  []mark // edges of the counted windows
}

// Current returns the one net.
func (c *clock) Current() (string, mcts.Evaluator, uint64) {
	now := c.now()
	if c.last.at.IsZero() {
		c.last = now
	}
	// A window holds at least one batch and one move, however short the duration.
	full := now.at.Sub(c.last.at) >= c.window && now.positions > c.last.positions && now.batches > c.last.batches
	if full && len(c.marks) <= playWindows {
		c.marks, c.last = append(c.marks, now), now
	}
	if len(c.marks) > playWindows {
		c.stop()
	}
	return c.id, c.ev, 0
}

func (c *clock) now() mark {
	hits := c.stats.CacheHits.Load()
	return mark{
		at: time.Now(), positions: c.stats.Plies.Load(), evaluations: c.stats.Evaluations.Load(),
		batches: c.stats.Batches.Load(), hits: hits, lookups: hits + c.stats.CacheMisses.Load(),
	}
}

// discard is a sink that keeps nothing.
type discard struct{}

// Put drops the game.
func (discard) Put(context.Context, *record.Game) error { return nil }
