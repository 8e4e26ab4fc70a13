package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// ErrOptions is wrapped by every error about what was asked for.
var ErrOptions = errors.New("benchmark options")

// PrecisionAuto is bf16 where the tier is faster in it; of kernels both.
const PrecisionAuto = "auto"

// Bounds of Options. Memory grows with all of them.
const (
	MaxBatch   = 4096
	MaxThreads = 256
)

// Options says what to measure.
type Options struct {
	Arch      nn.Arch
	Batch     int           // positions of an evaluation or of a training step, 1..MaxBatch
	Threads   int           // 1..MaxThreads; inference and kernels: each with its own batch; training: of one step
	Precision string        // PrecisionAuto (or ""), fp32, or bf16; the result says which it was: fp32 where the tier has no bf16
	Duration  time.Duration // of each measurement, about; > 0
}

// Validate says what is out of range or not in this build; the error wraps
// ErrOptions.
func (o *Options) Validate() error {
	if err := o.Arch.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if o.Batch < 1 || o.Batch > MaxBatch {
		return fmt.Errorf("%w: batch %d, want 1 to %d", ErrOptions, o.Batch, MaxBatch)
	}
	return cmp.Or(inRange("threads", o.Threads, 1, MaxThreads), checkDuration(o.Duration), checkPrecision(o.Precision))
}

// inRange refuses a number of things outside a range.
func inRange(what string, n, low, high int) error {
	if n < low || n > high {
		return fmt.Errorf("%w: %d %s, want %d to %d", ErrOptions, n, what, low, high)
	}
	return nil
}

// checkPrecision refuses unknown names.
func checkPrecision(name string) error {
	if byItself(name) {
		return nil
	}
	if _, err := kernel.ParsePrecision(name); err != nil {
		return fmt.Errorf("%w: %w, or %s", ErrOptions, err, PrecisionAuto)
	}
	return nil
}

// Precision returns what a name that Options accepts means in the active tier.
func Precision(name string) kernel.Precision {
	if name == kernel.BF16.String() && kernel.HasBF16() || byItself(name) && kernel.PrefersBF16() {
		return kernel.BF16
	}
	return kernel.FP32
}

// byItself says whether a name leaves the choice.
func byItself(name string) bool { return name == "" || name == PrecisionAuto }

// precisions returns those that the kernels are measured in.
func (o *Options) precisions() []kernel.Precision {
	if byItself(o.Precision) && kernel.HasBF16() {
		return []kernel.Precision{kernel.FP32, kernel.BF16}
	}
	return []kernel.Precision{Precision(o.Precision)}
}

func checkDuration(d time.Duration) error {
	if d <= 0 || d > time.Hour {
		return fmt.Errorf("%w: duration %v, want above 0 and at most 1h", ErrOptions, d)
	}
	return nil
}

// What answers for the positions of a search.
const (
	EvaluatorNet      = "net"      // the network
	EvaluatorConstant = "constant" // the same value for every position, equal priors: tree work alone
	EvaluatorHash     = "hash"     // mcts.HashEvaluator: random priors and values that depend on the position
)

const (
	// MaxGames bounds the games in lock step of a worker.
	MaxGames = 4096
	// MaxCacheEntries bounds the positions of a worker's NN cache.
	MaxCacheEntries = 1 << 26
	// playWindows is how many windows a measurement of games is cut into.
	playWindows = 8
	// mixMoves is how many moves each game has, in the mean, with the hash evaluator
	// before all else. They are cheap, and bring searches that begin together out of
	// step: the moves of a window come in bursts otherwise.
	mixMoves = 12
	// warmMoves is how many moves each game has after that, in the mean, with the
	// evaluator that is measured, before the first window: trees and the cache hold
	// its answers then.
	warmMoves = 2
	playSeed  = 1
)

// PlayOptions says how Search and SelfPlay play.
type PlayOptions struct {
	Evaluator    string // EvaluatorNet (or ""), EvaluatorConstant or EvaluatorHash
	Arch         nn.Arch
	Net          *nn.Net       // nil = a fresh net of Arch; read, like Arch, by EvaluatorNet only
	Precision    string        // of the net, as in Options
	Simulations  int           // of each search, 1..MaxSimulations
	Games        int           // in lock step, of each worker, 1..MaxGames
	Workers      int           // each on its own thread with its own evaluator and cache, 1..MaxThreads
	CacheEntries int           // positions of each worker's NN cache, 0 = none
	Pools        int           // SelfPlay only: 1 (or 0) = one batch of all games of a worker; 2 = halves, one searched while the other is evaluated
	Duration     time.Duration // CPU time of each worker in all counted windows, about
}

// withDefaults fills in what may be left out.
func (o PlayOptions) withDefaults() PlayOptions {
	o.Evaluator, o.Pools = cmp.Or(o.Evaluator, EvaluatorNet), cmp.Or(o.Pools, 1)
	if o.Net != nil {
		o.Arch = o.Net.Arch
	}
	return o
}

// Validate says what is out of range; the error wraps ErrOptions.
func (o PlayOptions) Validate() error {
	o = o.withDefaults()
	switch o.Evaluator {
	case EvaluatorConstant, EvaluatorHash:
	case EvaluatorNet:
		if err := o.Arch.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrOptions, err)
		}
	default:
		return fmt.Errorf("%w: unknown evaluator %q, want %s", ErrOptions, o.Evaluator,
			strings.Join([]string{EvaluatorConstant, EvaluatorHash, EvaluatorNet}, ", "))
	}
	return cmp.Or(
		inRange("simulations", o.Simulations, 1, MaxSimulations),
		inRange("games", o.Games, 1, MaxGames),
		inRange("workers", o.Workers, 1, MaxThreads),
		inRange("cache entries", o.CacheEntries, 0, MaxCacheEntries),
		inRange("pools", o.Pools, 1, min(2, o.Games)),
		checkPrecision(o.Precision),
		checkDuration(o.Duration))
}

// labels says what was measured.
func (o *PlayOptions) labels() PlayLabels {
	l := PlayLabels{
		Evaluator: o.Evaluator, Tier: kernel.ActiveTier().String(),
		Simulations: o.Simulations, Games: o.Games, Workers: o.Workers, CacheEntries: o.CacheEntries, Pools: o.Pools, Clock: Clock,
	}
	if o.Evaluator == EvaluatorNet {
		l.Net, l.Precision = o.Arch.String(), Precision(o.Precision).String()
	}
	return l
}

// PlayLabels are the conditions of a measurement, part of its JSON.
type PlayLabels struct {
	Evaluator    string `json:"evaluator"`
	Tier         string `json:"tier"`
	Precision    string `json:"precision,omitempty"` // with the net
	Net          string `json:"net,omitempty"`
	Simulations  int    `json:"simulations"`
	Games        int    `json:"games"` // in lock step, of each worker
	Workers      int    `json:"workers"`
	CacheEntries int    `json:"cache_entries"` // of each worker
	Pools        int    `json:"pools"`
	Clock        string `json:"clock"` // Clock
}

// moves returns how many moves of all games are n of each.
func (o *PlayOptions) moves(n int) uint64 { return uint64(n * o.Games * o.Workers) }

// window returns the CPU time of all workers in a window.
func (o *PlayOptions) window() time.Duration {
	return max(o.Duration/playWindows, 1) * time.Duration(o.Workers)
}

// batch is the largest batch.
func (o *PlayOptions) batch() int { return (o.Games + o.Pools - 1) / o.Pools }

// evaluators makes one for each worker; with the net they share its weights.
func (o *PlayOptions) evaluators() (make func() mcts.Evaluator, id string, err error) {
	switch o.Evaluator {
	case EvaluatorConstant:
		return func() mcts.Evaluator { return constant{} }, o.Evaluator, nil
	case EvaluatorHash:
		return func() mcts.Evaluator { return &mcts.HashEvaluator{Seed: playSeed} }, o.Evaluator, nil
	}
	net := o.Net
	if net == nil {
		net = nn.Init(o.Arch, netSeed)
	}
	packed, err := cpu.New(net, Precision(o.Precision))
	if err != nil {
		return nil, "", err
	}
	return func() mcts.Evaluator { return packed.NewEvaluator(o.batch()) }, net.ID(), nil
}

// constant gives every position the same answer: equal priors, a level game with
// as many draws as decisions, 40 plies left. It costs next to nothing, so that what
// is left is the search.
type constant struct{}

// Evaluate fills Prior, WDL and M.
func (constant) Evaluate(_ context.Context, b *encoding.Batch) error {
	for i := range b.N {
		prior := b.PriorOf(i)
		p := 1 / float32(len(prior))
		for k := range prior {
			prior[k] = p
		}
		b.WDL[i], b.M[i] = [3]float32{0.25, 0.5, 0.25}, 40
	}
	return nil
}

// timed is an evaluator that notes how long its answers take. The sum may be read
// by any goroutine.
type timed struct {
	mcts.Evaluator
	spent *atomic.Int64 // nanoseconds
}

// Evaluate answers b.
func (t timed) Evaluate(ctx context.Context, b *encoding.Batch) error {
	asked := time.Now()
	err := t.Evaluator.Evaluate(ctx, b)
	t.spent.Add(int64(time.Since(asked)))
	return err
}
