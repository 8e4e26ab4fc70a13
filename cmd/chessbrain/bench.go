package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/run/setup"
)

func newBench() *cobra.Command {
	var duration time.Duration
	d := &benchDevice{}
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine: search, kernels, inference, training, self-play, loader, plugins",
		Long: `Without a sub-command: the search signature, and the speed of the search, the kernels, inference and a
training step of a 64x6 net at batch 64. With --device cuda: evaluations, training steps and self-play of nets on a
GPU.

Each figure is the best of many short runs, because other processes only ever make a run slower; bench search and
bench selfplay measure otherwise.
` + bench.Nominal + `.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if d.name != "cpu" {
				return asUsage(d.run(c, duration))
			}
			if name := given(c, "net", "precision", "json", "check"); name != "" {
				return usagef("--%s has no meaning without --device cuda; see %s infer, train and selfplay", name, c.CommandPath())
			}
			return asUsage(bench.All(c.OutOrStdout(), duration))
		},
	}
	c.Flags().DurationVar(&duration, "duration", 500*time.Millisecond, "time of each measurement, about (a kernel: a quarter)")
	d.bind(c)
	for _, m := range benchNets {
		c.AddCommand(m.command())
	}
	for _, m := range benchGames {
		c.AddCommand(m.command())
	}
	c.AddCommand(newBenchPrecision(), newBenchLoader(), newBenchPlugins())
	return c
}

// benchFlags are the flags that the commands about nets share.
type benchFlags struct {
	net     string
	tier    string
	options bench.Options
}

// bind registers the flags.
func (f *benchFlags) bind(c *cobra.Command, d time.Duration) {
	c.Flags().StringVar(&f.net, "net", bench.StandardNet, "filters x blocks, with suffixes such as -plain or -mish")
	c.Flags().IntVar(&f.options.Batch, "batch", bench.StandardBatch, fmt.Sprintf("positions, 1 to %d", bench.MaxBatch))
	c.Flags().IntVar(&f.options.Threads, "threads", 1, fmt.Sprintf("1 to %d", bench.MaxThreads))
	c.Flags().StringVar(&f.tier, "tier", autoName, "same as --"+tierFlag)
	bindPrecision(c, &f.options.Precision)
	c.Flags().DurationVar(&f.options.Duration, "duration", d, "time of each measurement, about")
	bindJSON(c, "one JSON object a line")
}

// resolve returns the options that the flags ask for.
func (f *benchFlags) resolve(c *cobra.Command) (bench.Options, error) {
	if all := c.Flags().Lookup(tierFlag); c.Flags().Changed("tier") && all != nil && all.Changed && all.Value.String() != f.tier {
		return bench.Options{}, usagef("--tier %s: --%s %s is given too; keep one of the two", f.tier, tierFlag, all.Value)
	}
	if f.tier != "" && f.tier != autoName {
		if err := setTier("tier", f.tier); err != nil {
			return bench.Options{}, err
		}
	}
	arch, err := nn.ParseArch(f.net)
	if err != nil {
		return bench.Options{}, usageError{fmt.Errorf("--net: %w", err)}
	}
	f.options.Arch = arch
	return f.options, asUsage(f.options.Validate())
}

// benchNet is a named measurement of a net.
type benchNet struct {
	use, short, long string
	title            string // in the table
	duration         time.Duration
	measure          func(bench.Options) ([]bench.KernelSpeed, error)
}

// benchNets are the measurements of nets.
var benchNets = []benchNet{
	{"kernels", "Measure the kernels at the sizes of a net",
		"Measures the kernels at the sizes of a net; with --precision auto those that have a bf16 form in both. ",
		"", 300 * time.Millisecond, bench.Kernels},
	{"infer", "Measure evaluations of a net", "Measure evaluations of a net, on one or more threads. ",
		"inference", 2 * time.Second, one(bench.Infer)},
	{"train", "Measure training steps of a net", "Measure training steps of a net, on one or more threads. ",
		"training step", 2 * time.Second, one(bench.Train)},
}

// one makes a list of the one speed that measure finds.
func one(measure func(bench.Options) (bench.Speed, error)) func(bench.Options) ([]bench.KernelSpeed, error) {
	return func(o bench.Options) ([]bench.KernelSpeed, error) {
		s, err := measure(o)
		return []bench.KernelSpeed{{Speed: s}}, err
	}
}

// command makes the command of a measurement.
func (m benchNet) command() *cobra.Command {
	f := &benchFlags{}
	c := &cobra.Command{
		Use: m.use, Short: m.short, Args: noArgs, Long: m.long + bench.Nominal + ".",
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.resolve(c)
			if err != nil {
				return err
			}
			speeds, err := m.measure(o)
			if err != nil {
				return err
			}
			warnLacking(c, o.Precision, speeds[0].Precision, speeds[0].Tier)
			return answerLines(c, speeds, func(out io.Writer, speeds []bench.KernelSpeed) error {
				return bench.WriteSpeeds(out, m.title, speeds)
			})
		},
	}
	f.bind(c, m.duration)
	return c
}

// asUsage marks an error about options as one of the command line.
func asUsage(err error) error {
	if errors.Is(err, bench.ErrOptions) {
		return usageError{err}
	}
	return err
}

// maxComparePositions bounds the memory of a comparison.
const maxComparePositions = 100_000

func newBenchPrecision() *cobra.Command {
	var file string
	var positions int
	var seed uint64
	c := &cobra.Command{
		Use:   "precision [RUN]",
		Short: "Compare a trained net's answers in bf16 with those in fp32",
		Long: `Evaluates the same positions in fp32 and in bf16 and says how far the answers are apart. With RUN the
positions are drawn from the games of that run directory, and the net is its newest unless --net-file names one;
without, they come from random legal play. Accepted is a net whose best move is the same in 99 % of the positions
with a choice, and whose value (W-L) differs by 0.005 at most in the mean.`,
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			if err := between("positions", positions, 1, maxComparePositions); err != nil {
				return err
			}
			if len(args) == 0 && file == "" {
				return usagef("want a run directory, or a net with --net-file")
			}
			net, err := openNet(cmp.Or(file, runArg(args)))
			if err != nil {
				return err
			}
			b, from := bench.PositionBatch(positions, seed), "random legal play"
			if len(args) > 0 {
				if b, err = setup.Positions(c.Context(), args[0], positions, seed); err != nil {
					return usageError{err}
				}
				from = "games of " + args[0]
			}
			r, err := bench.ComparePrecisions(net.Net, b)
			if err != nil {
				return asUsage(err)
			}
			return answerf(c, r, "%s", r.Text(net.Name, from))
		},
	}
	c.Flags().StringVar(&file, "net-file", "", "compare this .safetensors file")
	c.Flags().IntVar(&positions, "positions", 20000, fmt.Sprintf("how many, 1 to %d", maxComparePositions))
	c.Flags().Uint64Var(&seed, "seed", 1, "of the choice of positions")
	bindJSON(c, "one JSON object")
	return c
}

func newBenchLoader() *cobra.Command {
	var o bench.LoaderOptions
	var profile string
	c := &cobra.Command{
		Use: "loader", Short: "Measure the staged loader: positions as training batches", Args: noArgs,
		Long: `Measures the loader's stages from files to training batches, one goroutine a stage. rl is hanse sampling
over the window, one position of each accepted chunk; sl is all positions of all chunks in random order, from chunks
that were transcoded in the first pass, and straight from the files. Without --dir it makes games of random legal
play.

Rates are positions per CPU-second of the whole process, medians of 5 windows; beside them the same with each
position's 112 planes written as float32.`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := o.Validate(); err != nil {
				return asUsage(err)
			}
			if profile != "" {
				stop, failed := monitor.CPUProfile(profile)
				if failed != nil {
					return pathError(failed)
				}
				defer func() { err = errors.Join(err, stop()) }()
			}
			results, err := bench.Loader(c.Context(), o)
			if err != nil {
				return asUsage(err)
			}
			for i := range results {
				if err := answer(c, &results[i]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&o.Mode, "mode", bench.LoaderRL, "rl or sl")
	c.Flags().IntVar(&o.Games, "games", 1000, fmt.Sprintf("to make, 1 to %d", bench.MaxLoaderGames))
	c.Flags().StringVar(&o.Dir, "dir", "", "of chunk files (.games, .gz, .tar) to read in place of games that are made")
	c.Flags().IntVar(&o.StoreMiB, "store-mib", 4096, "memory for transcoded chunks")
	c.Flags().IntVar(&o.Frames, "reservoir", 65536, "positions that sl holds to mix them")
	c.Flags().DurationVar(&o.Duration, "duration", 4*time.Second, "CPU time of each measurement, about")
	c.Flags().StringVar(&profile, "cpu-profile", "", "write a CPU profile of all of it there (for go tool pprof)")
	bindJSON(c, "one JSON object a line for each measurement")
	return c
}

// benchDevice are the flags of bench for a GPU.
type benchDevice struct {
	name      string
	nets      []string
	precision string
	check     bool
}

func (d *benchDevice) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&d.name, "device", "cpu", "cpu, cuda or cuda:N")
	f.StringSliceVar(&d.nets, "net", nil, "of a GPU: filters x blocks, several separated by commas (default 128x10; with --check some of every kind)")
	f.StringVar(&d.precision, "precision", autoName, "of a GPU: auto (fp16 and bf16 where it has them), fp16, bf16 or fp32; training takes bf16 or fp32")
	bindJSON(c, "of a GPU: one JSON object a line")
	f.BoolVar(&d.check, "check", false, "of a GPU: hold it against the CPU instead; exit code 1 where a number is off")
}

// run opens the device and measures or checks it.
func (d *benchDevice) run(c *cobra.Command, duration time.Duration) error {
	number, numbered := strings.CutPrefix(d.name, "cuda:")
	if _, err := strconv.ParseUint(number, 10, 10); d.name != "cuda" && (!numbered || err != nil) {
		return usagef("--device %s: want cpu, or one GPU, cuda or cuda:N", d.name)
	}
	nets := d.nets
	if len(nets) == 0 && !d.check {
		nets = []string{"128x10"}
	}
	var archs []nn.Arch
	for _, name := range nets {
		a, err := nn.ParseArch(name)
		if err != nil {
			return usageError{fmt.Errorf("--net: %w", err)}
		}
		archs = append(archs, a)
	}
	precisions := []device.Precision{device.FP32, device.BF16, device.FP16}
	i := slices.IndexFunc(precisions, func(p device.Precision) bool { return p.String() == d.precision })
	if i < 0 && d.precision != autoName {
		return usagef("--precision %s: want auto, fp16, bf16 or fp32", d.precision)
	}
	if err := handOverFor("device", d.name); err != nil {
		return err
	}
	if d.check {
		return d.checkAll(c, archs)
	}
	fmt.Fprintln(textOut(c), bench.DeviceHeader)
	for _, a := range archs {
		dev, err := setup.OpenDriver(d.name)
		if err != nil {
			return err
		}
		o := bench.DefaultDeviceOptions(a, dev.Info(), runtime.GOMAXPROCS(0))
		o.Duration = duration
		if i >= 0 {
			o.Precisions = precisions[i : i+1]
		}
		if err := bench.OnDevice(c.Context(), dev, o, func(r bench.DeviceRow) error { return answer(c, &r) }); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(textOut(c), "* "+bench.NominalDevice)
	return err
}

// checkAll holds the device against the CPU.
func (d *benchDevice) checkAll(c *cobra.Command, archs []nn.Arch) error {
	o := bench.DefaultCheckOptions()
	if len(archs) > 0 {
		o.Nets = archs
	}
	dev, err := setup.OpenDriver(d.name)
	if err != nil {
		return err
	}
	compared := 0
	fmt.Fprintf(textOut(c), "%s against the CPU in fp32, seed %d\n", dev.Info().Name, o.Seed)
	failed, err := bench.CheckDevice(c.Context(), dev, o, func(r bench.CheckRow) error {
		compared++
		return answer(c, &r)
	})
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("FAILED: %d of %d comparisons with the CPU are off; --device cpu computes right", failed, compared)
	}
	_, err = fmt.Fprintf(textOut(c), "all %d comparisons hold\n", compared)
	return err
}
