package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Defaults of the bench commands.
const (
	benchNet        = "64x6"
	benchBatch      = 64
	benchTreeVisits = 200
)

func newBench() *cobra.Command {
	var duration time.Duration
	d := &benchDevice{}
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine: search, kernels, inference, training, self-play, loader, plugins",
		Long: `Without a sub-command: the search signature, and the speed of the search, the
kernels, inference and a training step of a 64x6 net at batch 64, all in one run.

With --device cuda: evaluations, training steps and self-play of nets on a GPU, with
the share of its peak and of the time in which it works; with --check every kind of
kernel, gradient and training step against the CPU.

Each figure is the best of many short runs, because other processes only ever make
a run slower. Games (bench search, bench selfplay) are measured otherwise: see there.
` + nominalNote + `.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if d.name != "cpu" {
				return asUsage(d.run(c, duration))
			}
			for _, name := range []string{"net", "precision", "json", "check"} {
				if c.Flags().Changed(name) {
					return usagef("--%s has no meaning without --device cuda; see %s infer, train and selfplay", name, c.CommandPath())
				}
			}
			return asUsage(benchAll(c.OutOrStdout(), duration))
		},
	}
	c.Flags().DurationVar(&duration, "duration", 500*time.Millisecond, "time of each measurement, about (a kernel: a quarter)")
	d.bind(c)
	c.AddCommand(newBenchKernels(), newBenchInfer(), newBenchTrain(), newBenchSearch(), newBenchSelfplay(), newBenchPrecision(), newBenchLoader(), newBenchPlugins())
	return c
}

// benchAll prints everything for the standard net.
func benchAll(w io.Writer, d time.Duration) error {
	arch, err := nn.ParseArch(benchNet)
	if err != nil {
		return err
	}
	o := bench.Options{Arch: arch, Batch: benchBatch, Threads: 1, Duration: d}
	if err := o.Validate(); err != nil {
		return err
	}
	fmt.Fprintf(w, "signature %016x\n", mcts.Signature())
	tree, err := bench.TreeWork(benchTreeVisits, d)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "search    %.2f us of tree work a simulation (%d simulations a search; hash evaluator %.2f us beside)\n\n",
		microseconds(tree.Tree), tree.Simulations, microseconds(tree.Evaluator))
	short := o
	short.Duration = max(d/4, 1)
	if _, err := benchKernels(w, short, false); err != nil {
		return err
	}
	fmt.Fprintln(w, "\n"+speedHeader)
	precisions := []kernel.Precision{kernel.FP32}
	if kernel.HasBF16() {
		precisions = append(precisions, kernel.BF16)
	}
	for i, m := range []func(bench.Options) (bench.Speed, error){bench.Infer, bench.Train} {
		for _, p := range precisions {
			o.Precision = p.String()
			s, err := m(o)
			if err != nil {
				return err
			}
			printSpeed(w, [...]string{"inference", "training step"}[i], &s)
		}
	}
	_, err = fmt.Fprintln(w, tableNote)
	return err
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// benchFlags are the flags that the commands about nets share.
type benchFlags struct {
	net     string
	options bench.Options
	json    bool
}

// bind registers the flags.
func (f *benchFlags) bind(c *cobra.Command, d time.Duration) {
	c.Flags().StringVar(&f.net, "net", benchNet, "filters x blocks, with suffixes such as -plain or -mish")
	c.Flags().IntVar(&f.options.Batch, "batch", benchBatch, fmt.Sprintf("positions, 1 to %d", bench.MaxBatch))
	c.Flags().IntVar(&f.options.Threads, "threads", 1, fmt.Sprintf("1 to %d", bench.MaxThreads))
	c.Flags().StringVar(&f.options.Tier, "tier", bench.TierAuto, "same as --"+tierFlag)
	bindPrecision(c, &f.options.Precision)
	c.Flags().DurationVar(&f.options.Duration, "duration", d, "time of each measurement, about")
	c.Flags().BoolVar(&f.json, "json", false, "one JSON object a line")
}

// resolve returns the options that the flags ask for.
func (f *benchFlags) resolve(c *cobra.Command) (bench.Options, error) {
	if all := c.Flags().Lookup(tierFlag); c.Flags().Changed("tier") && all != nil && all.Changed && all.Value.String() != f.options.Tier {
		return bench.Options{}, usagef("--tier %s: --%s %s is given too; keep one of the two", f.options.Tier, tierFlag, all.Value)
	}
	arch, err := nn.ParseArch(f.net)
	if err != nil {
		return bench.Options{}, usageError{fmt.Errorf("--net: %w", err)}
	}
	f.options.Arch = arch
	return f.options, asUsage(f.options.Validate())
}

func newBenchKernels() *cobra.Command {
	f := &benchFlags{}
	c := &cobra.Command{
		Use: "kernels", Short: "Measure the kernels at the sizes of a net", Args: noArgs,
		Long: "Measures convolutions, their gradients and the other kernels at the sizes of a net;\n" +
			"with --precision auto those that have a bf16 form in both. " + nominalNote + ".",
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.resolve(c)
			if err != nil {
				return err
			}
			first, err := benchKernels(c.OutOrStdout(), o, f.json)
			warnLacking(c, o.Precision, first.Precision, first.Tier)
			return err
		},
	}
	f.bind(c, 300*time.Millisecond)
	return c
}

func newBenchInfer() *cobra.Command {
	return newBenchNet("infer", "Measure evaluations of a net", "inference", bench.Infer)
}

func newBenchTrain() *cobra.Command {
	return newBenchNet("train", "Measure training steps of a net", "training step", bench.Train)
}

// newBenchNet is a command that measures one figure.
func newBenchNet(use, short, what string, measure func(bench.Options) (bench.Speed, error)) *cobra.Command {
	f := &benchFlags{}
	c := &cobra.Command{
		Use: use, Short: short, Args: noArgs,
		Long: short + ", on one or more threads. " + nominalNote + ".",
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.resolve(c)
			if err != nil {
				return err
			}
			s, err := measure(o)
			if err != nil {
				return err
			}
			warnLacking(c, o.Precision, s.Precision, s.Tier)
			w := c.OutOrStdout()
			if f.json {
				return json.NewEncoder(w).Encode(s)
			}
			fmt.Fprintln(w, speedHeader)
			printSpeed(w, what, &s)
			_, err = fmt.Fprintln(w, tableNote)
			return err
		},
	}
	f.bind(c, 2*time.Second)
	return c
}

// benchKernels prints a line for each kernel and returns the first.
func benchKernels(w io.Writer, o bench.Options, asJSON bool) (first bench.Speed, err error) {
	speeds, err := bench.Kernels(o)
	if err != nil {
		return first, err
	}
	if !asJSON {
		fmt.Fprintln(w, speedHeader)
	}
	for i := range speeds {
		if !asJSON {
			printSpeed(w, speeds[i].Kernel, &speeds[i].Speed)
		} else if err := json.NewEncoder(w).Encode(speeds[i]); err != nil {
			return first, err
		}
	}
	if !asJSON {
		_, err = fmt.Fprintln(w, tableNote)
	}
	return speeds[0].Speed, err
}

const (
	speedHeader = "                                 tier     precision  net          batch threads    boards/s  GFLOP/s* of peak*"
	speedLine   = "%-32s %-8s %-10s %-12s %5d %7d %11.0f %9.1f %7.1f%%\n"
	tableNote   = "* " + nominalNote
	// nominalNote says what the figures count.
	nominalNote = `Operations are nominal (2*64*9*Ci*Co a 3x3 convolution
and board), the peak is that of this core's registers in the same precision, measured
in the same run; Winograd needs a quarter of the products: shares above 100 % are real`
)

func printSpeed(w io.Writer, what string, s *bench.Speed) {
	fmt.Fprintf(w, speedLine, what, s.Tier, s.Precision, s.Net, s.Batch, s.Threads, s.BoardsPerSecond, s.GFLOPS, 100*s.ShareOfPeak)
}

// asUsage marks an error about options as one of the command line.
func asUsage(err error) error {
	if errors.Is(err, bench.ErrOptions) {
		return usageError{err}
	}
	return err
}
