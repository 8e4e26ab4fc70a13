package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
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
	json    bool
}

// bind registers the flags.
func (f *playFlags) bind(c *cobra.Command, evaluator string, d time.Duration) {
	o := &f.options
	c.Flags().StringVar(&o.Evaluator, "evaluator", evaluator, "constant, hash (random priors and values of each position) or net")
	c.Flags().StringVar(&f.net, "net", benchNet, "filters x blocks of a fresh net, with suffixes such as -plain or -mish; or a .safetensors file")
	c.Flags().IntVar(&f.visits, "visits", 0, "of each search, as --mcts-simulations of train; 0 = 100, and then 800")
	c.Flags().IntVar(&f.visits, "simulations", 0, "same as --visits")
	c.Flags().IntVar(&o.Games, "games", benchBatch, fmt.Sprintf("of each worker in lock step = the largest batch, 1 to %d", bench.MaxGames))
	c.Flags().IntVar(&o.Workers, "workers", 1, fmt.Sprintf("threads, each with its own games, evaluator and cache, 1 to %d", bench.MaxThreads))
	c.Flags().IntVar(&o.CacheEntries, "cache", selfplay.DefaultCacheEntries, "positions of each worker's NN cache; 0 = no cache")
	c.Flags().DurationVar(&o.Duration, "duration", d, "CPU time of each worker that is counted, about")
	bindPrecision(c, &o.Precision)
	c.Flags().StringVar(&f.profile, "cpu-profile", "", "write a CPU profile of the measurement there (for go tool pprof)")
	c.Flags().BoolVar(&f.json, "json", false, "one JSON object a line for each measurement")
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
		stop, failed := startCPUProfile(f.profile)
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

// startCPUProfile records a CPU profile of the process until stop.
func startCPUProfile(path string) (stop func() error, err error) {
	out, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return nil, errors.Join(fmt.Errorf("profile: %w", err), out.Close())
	}
	return func() error { pprof.StopCPUProfile(); return out.Close() }, nil
}

// findNet reads the net file, or makes out the architecture.
func (f *playFlags) findNet(o *bench.PlayOptions) (err error) {
	if strings.HasSuffix(f.net, setup.NetSuffix) {
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
Counted is what one process does: CPU-seconds are user and system time of all its
threads (getrusage), garbage collection included; where the system does not say, the
time of the workers, and "clock" is "wall". Each worker searches --games trees in lock
step, one leaf of each for a batch, with the default settings of self-play: root noise,
temperature, the subtree of the move played kept, a cache of --cache positions. The
first games begin in all phases of a game. Nothing is counted before each of them has
had 12 moves with the hash evaluator, which bring them out of step, and two with the
evaluator that is measured, in the mean.`

func newBenchSearch() *cobra.Command {
	f := &playFlags{}
	c := &cobra.Command{
		Use: "search", Short: "Measure the tree search in games that are played on", Args: noArgs,
		Long: `Measures searches as self-play does them, but for its records, with an evaluator that
costs next to nothing (constant), a position's hash, or a net.

A node is a simulation that ended at a new position with the evaluator's answer: legal
moves, masks, policy indices, expansion and backup. Simulations that ended with the
cache's answer, or where the outcome needs no network (the game is over, a repetition,
a proven result), are printed apart. The rate is the median of 8 windows.
` + playNote,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.each(c, func(o bench.PlayOptions) error {
				r, err := bench.Search(c.Context(), o)
				if err != nil {
					return err
				}
				if f.json {
					return json.NewEncoder(c.OutOrStdout()).Encode(r)
				}
				return printSearch(c.OutOrStdout(), &r)
			})
		},
	}
	f.bind(c, bench.EvaluatorConstant, 4*time.Second)
	return c
}

func newBenchSelfplay() *cobra.Command {
	f := &playFlags{}
	c := &cobra.Command{
		Use: "selfplay", Short: "Measure self-play workers, and how busy they keep the network", Args: noArgs,
		Long: `Measures self-play workers. With a net, 8 windows of self-play alternate with windows of
pure inference (what bench infer measures: full batches of --games positions (half, with two pools), the same
net, precision and threads); the ratio is the median quotient of new evaluations and
inferred boards per CPU-second of neighbouring windows. With --precision auto bf16 is
measured where the CPU has it, and fp32 beside it.

An evaluation is a position that the network answered: what the cache knew is none. A
move is a position searched and played: a training row. Long searches of many games
make few moves a second: give them a longer --duration.
` + playNote,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.each(c, func(o bench.PlayOptions) error {
				r, err := bench.SelfPlay(c.Context(), o)
				if err != nil {
					return err
				}
				if f.json {
					return json.NewEncoder(c.OutOrStdout()).Encode(r)
				}
				return printSelfplay(c.OutOrStdout(), &r)
			})
		},
	}
	f.bind(c, bench.EvaluatorNet, 8*time.Second)
	c.Flags().IntVar(&f.options.Pools, "pools", 1, "1, or 2 = one half of a worker's games is searched while the other is evaluated")
	return c
}

// printLabels prints the conditions.
func printLabels(w io.Writer, l *bench.PlayLabels) {
	fmt.Fprintf(w, "%s evaluator", l.Evaluator)
	if l.Net != "" {
		fmt.Fprintf(w, ", %s %s, %s", l.Net, l.Precision, l.Tier)
	}
	fmt.Fprintf(w, ": %d visits, %d games in lock step, %d worker", l.Simulations, l.Games, l.Workers)
	if l.Workers > 1 {
		fmt.Fprint(w, "s")
	}
	if l.Pools > 1 {
		fmt.Fprintf(w, ", %d pools", l.Pools)
	}
	fmt.Fprintf(w, ", cache of %d\n", l.CacheEntries)
}

// clockNote names the unit of a rate.
func clockNote(l *bench.PlayLabels) string {
	if l.Clock == "cpu" {
		return "per CPU-second"
	}
	return "per second and worker (no CPU time here)"
}

func printSearch(w io.Writer, r *bench.SearchResult) error {
	printLabels(w, &r.PlayLabels)
	all := float64(max(r.Nodes+r.Cached+r.Terminal, 1))
	_, err := fmt.Fprintf(w, "  nodes        %9.0f %s (median of windows, %.0f to %.0f), evaluator %.1f %% of the time\n"+
		"  simulations  %9.0f: %.1f %% nodes, %.1f %% cached, %.1f %% terminal; mean depth %.2f plies\n"+
		"  moves        %9.1f (%d in %.2f CPU-seconds, %.2f s)\n",
		r.NodesPerCPUSecond, clockNote(&r.PlayLabels), r.SlowestWindow, r.FastestWindow, 100*r.EvaluatorShare,
		r.SimulationsPerCPUSecond, 100*float64(r.Nodes)/all, 100*float64(r.Cached)/all, 100*float64(r.Terminal)/all, r.MeanDepth,
		r.MovesPerCPUSecond, r.Moves, r.CPUSeconds, r.Seconds)
	return err
}

func printSelfplay(w io.Writer, r *bench.SelfPlayResult) error {
	printLabels(w, &r.PlayLabels)
	fmt.Fprintf(w, "  moves        %9.1f %s, %.1f per second (%d in %.2f CPU-seconds, %.2f s)\n"+
		"  evaluations  %9.0f new, %.1f a move, mean batch %.1f, cache hits %.1f %%\n"+
		"  time         %8.1f %% in the tree, %.1f %% in the evaluator\n",
		r.MovesPerCPUSecond, clockNote(&r.PlayLabels), r.PositionsPerSecond, r.Moves, r.CPUSeconds, r.Seconds,
		r.EvaluationsPerCPUSecond, r.EvaluationsPerMove, r.MeanBatch, 100*r.CacheHits,
		100*(1-r.EvaluatorShare), 100*r.EvaluatorShare)
	if r.Ratio == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "  inference    %9.0f in the windows between; self-play reaches %.3f of it (median, %.3f to %.3f)\n",
		r.InferencePerCPUSecond, r.Ratio, r.RatioLow, r.RatioHigh)
	return err
}
