package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
)

// benchPlayVisits are those that are measured when none are asked for.
var benchPlayVisits = []int{100, 800}

// playFlags are the flags of the commands that measure games.
type playFlags struct {
	net     string
	visits  int
	options bench.PlayOptions
	profile string // file of a CPU profile, "" = none
}

// bind registers the flags.
func (f *playFlags) bind(c *cobra.Command, evaluator string, d time.Duration) {
	o := &f.options
	c.Flags().StringVar(&o.Evaluator, "evaluator", evaluator, "constant, hash (random priors and values of each position) or net")
	c.Flags().StringVar(&f.net, "net", bench.StandardNet, "filters x blocks of a fresh net, with suffixes such as -plain or -mish; or a .safetensors file")
	c.Flags().IntVar(&f.visits, "visits", 0, "of each search, as --mcts-simulations of train; 0 = 100, and then 800")
	c.Flags().IntVar(&f.visits, "simulations", 0, "same as --visits")
	c.Flags().IntVar(&o.Games, "games", bench.StandardBatch, fmt.Sprintf("of each worker in lock step = the largest batch, 1 to %d", bench.MaxGames))
	c.Flags().IntVar(&o.Workers, "workers", 1, fmt.Sprintf("threads, each with its own games, evaluator and cache, 1 to %d", bench.MaxThreads))
	c.Flags().IntVar(&o.CacheEntries, "cache", selfplay.DefaultCacheEntries, "positions of each worker's NN cache; 0 = no cache")
	c.Flags().DurationVar(&o.Duration, "duration", d, "CPU time of each worker that is counted, about")
	bindPrecision(c, &o.Precision)
	c.Flags().StringVar(&f.profile, "cpu-profile", "", "write a CPU profile of the measurement there (for go tool pprof)")
	bindJSON(c, "one JSON object a line for each measurement")
}

// each calls measure for the visits and the precisions that the flags ask for:
// without a choice 100 and 800 visits, and with the net bf16 and fp32.
func (f *playFlags) each(c *cobra.Command, measure func(bench.PlayOptions) error) (err error) {
	o := f.options
	visits, precisions := benchPlayVisits, []string{o.Precision}
	switch asked, same := c.Flags().Changed("visits"), c.Flags().Changed("simulations"); {
	case asked && same:
		return usagef("--visits and --simulations are the same; keep one of the two")
	case asked || same:
		visits = []int{f.visits}
	}
	if o.Evaluator == bench.EvaluatorNet {
		if err := f.findNet(&o); err != nil {
			return err
		}
		if o.Precision == autoName && kernel.HasBF16() {
			precisions = []string{kernel.BF16.String(), kernel.FP32.String()}
		}
		warnLacking(c, o.Precision, bench.Precision(o.Precision).String(), kernel.ActiveTier().String())
	}
	if f.profile != "" {
		stop, failed := monitor.CPUProfile(f.profile)
		if failed != nil {
			return pathError(failed)
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	for _, o.Simulations = range visits {
		for _, o.Precision = range precisions {
			if err := measure(o); err != nil {
				return asUsage(err)
			}
		}
	}
	return nil
}

// findNet reads the net file, or makes out the architecture.
func (f *playFlags) findNet(o *bench.PlayOptions) (err error) {
	if strings.HasSuffix(f.net, run.NetSuffix) {
		if o.Net, err = setup.ReadNet(f.net); err != nil {
			return pathError(err)
		}
		return nil
	}
	if o.Arch, err = nn.ParseArch(f.net); err != nil {
		return usageError{fmt.Errorf("--net: %w", err)}
	}
	return nil
}

const playNote = `
CPU-seconds are user and system time of all the process's threads; where the system does not say, the time of the
workers, and "clock" is "wall". Each worker searches --games trees in lock step, one leaf of each for a batch, with
the default settings of self-play. Nothing is counted before the games have got out of step.`

// benchGame is a named measurement of games.
type benchGame struct {
	use, short, long string
	evaluator        string // that is usual
	duration         time.Duration
	measure          func(context.Context, bench.PlayOptions) (printed, error)
}

// benchGames are the measurements of games.
var benchGames = []benchGame{
	{"search", "Measure the tree search in games that are played on", `Measures searches as self-play does them, but
for its records. A node is a simulation that ended at a new position with the evaluator's answer; those that ended
with the cache's answer, or where the outcome needs no network, are printed apart. The rate is the median of 8
windows.
`,
		bench.EvaluatorConstant, 4 * time.Second,
		func(ctx context.Context, o bench.PlayOptions) (printed, error) { return bench.Search(ctx, o) }},
	{"selfplay", "Measure self-play workers, and how busy they keep the network", `Measures self-play workers. With a
net, 8 windows of self-play alternate with windows of pure inference (what bench infer measures); the ratio is the
median quotient of new evaluations and inferred boards per CPU-second of neighbouring windows. An evaluation is a
position that the network answered, not the cache; a move is one searched and played: a training row. Long searches
of many games need a longer --duration.
`,
		bench.EvaluatorNet, 8 * time.Second,
		func(ctx context.Context, o bench.PlayOptions) (printed, error) { return bench.SelfPlay(ctx, o) }},
}

// command makes the command of a measurement.
func (m benchGame) command() *cobra.Command {
	f := &playFlags{}
	c := &cobra.Command{
		Use: m.use, Short: m.short, Args: noArgs, Long: m.long + playNote,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.each(c, func(o bench.PlayOptions) error {
				r, err := m.measure(c.Context(), o)
				if err != nil {
					return err
				}
				return answer(c, r)
			})
		},
	}
	f.bind(c, m.evaluator, m.duration)
	if m.use == "selfplay" {
		c.Flags().IntVar(&f.options.Pools, "pools", 1, "1, or 2 = one half of a worker's games is searched while the other is evaluated")
	}
	return c
}
