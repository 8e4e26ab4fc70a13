package main

import (
	"bufio"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/handover"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run/setup"
)

func newDoctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine is, what speed to expect and what is missing",
		Args:  noArgs,
		RunE:  diagnose,
	}
}

// diagnose prints one line a fact.
func diagnose(c *cobra.Command, _ []string) error {
	w, missing := bufio.NewWriter(c.OutOrStdout()), bench.Missing() // before its own work
	say := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	say("program", "chessbrain %s, %s %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	say("cpu", "%s, %d threads usable; %s", bench.CPUName(), runtime.GOMAXPROCS(0), kernel.Features())
	say("kernels", "%s; this machine has %s", kernel.ActiveTier(), tierNames())
	if err := kernel.TierError(); err != nil {
		say("", "! %v", err)
	}
	precision, bf16 := kernel.FP32, "no products in these kernels (they need AVX512_BF16 or AMX_BF16, and on arm64 FEAT_BF16): everything is computed in fp32"
	switch {
	case kernel.PrefersBF16():
		precision, bf16 = kernel.BF16, "yes: training and self-play use it unless told otherwise (--no-amp, --precision fp32)"
	case kernel.HasBF16():
		bf16 = "yes, but slower than fp32, in which everything is computed unless told otherwise (--amp bf16, --precision bf16)"
	}
	say("bf16", "%s", bf16)
	if total, free, ok := bench.Memory(); ok {
		say("memory", "%.1f GiB, %.1f GiB free", total, free)
	}
	if disk, err := fsx.OS.Space("."); err == nil {
		reserve := fsx.DefaultReserve
		say("disk", "%s may be used here, %s stay free", fsx.FormatBytes(reserve.Usable(disk)), fsx.FormatBytes(reserve.Of(disk)))
	} else {
		say("disk", "! %v", err)
	}
	say("speed", "%.0f GFLOP/s fp32 peak a core", kernel.PeakGFLOPS(200*time.Millisecond, kernel.FP32))
	if kernel.HasBF16() {
		say("", "%.0f GFLOP/s bf16 peak a core", kernel.PeakGFLOPS(200*time.Millisecond, kernel.BF16))
	}
	w.Flush()
	batch := 64
	if kernel.ActiveTier() == kernel.Generic {
		batch = 8 // where the usual one would take half a minute
	}
	for _, form := range []string{"32x4", "64x6", "128x10"} {
		arch, err := nn.ParseArch(form)
		if err != nil {
			return err
		}
		s, err := bench.Infer(bench.Options{Arch: arch, Batch: batch, Threads: 1, Duration: 300 * time.Millisecond})
		if err != nil {
			return err
		}
		speed := s.BoardsPerSecond
		say("", "%s in %s: %.0f evaluations/s a core, about %.1f self-play positions/s a core at 32 simulations",
			arch, precision, speed, speed/32)
	}
	for i, line := range devices() {
		say([]string{"devices", ""}[min(i, 1)], "%s", line)
	}
	for _, m := range missing {
		say("missing", "%s", m)
	}
	return w.Flush()
}

// devices says where this program can compute, and why not on a GPU.
func devices() []string {
	lines := []string{"cpu"}
	ok, found := driver.Available()
	switch {
	case setup.CUDABuild:
		lines = append(lines, setup.DescribeGPUs()...)
	case !ok:
		lines = append(lines, "no GPU: "+found)
	default:
		path, reason := handover.New(setup.CUDABuild).Find()
		if path == "" {
			return append(lines, "a GPU is not used: "+reason+" (found "+found+")")
		}
		lines = append(lines, fmt.Sprintf("GPUs: %s; --device auto and cuda start %s, whose doctor names them", found, path))
	}
	return lines
}

// release is the program's version; the commit is added from the build.
const release = "0.1.0"

// version returns the release and, where the build knows it, the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = "+" + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if commit == "" {
		return release
	}
	return release + commit + dirty
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, the Go release and the CPU kernels",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "chessbrain %s\n%s %s/%s\nCPU kernels: %s\nCPU tiers here: %s\nbf16 products: %s\n",
				version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, kernel.ActiveTier(), tierNames(),
				map[bool]string{true: "yes", false: "no"}[kernel.HasBF16()])
			return err
		},
	}
}

func newPerft() *cobra.Command {
	var depth int
	var fen string
	var divide bool
	c := &cobra.Command{
		Use:   "perft",
		Short: "Count the leaf positions of the legal-move tree",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := between("depth", depth, 1, 20); err != nil {
				return err
			}
			board := chess.StartBoard()
			if fen != "" {
				var err error
				if board, err = chess.ParseFEN(fen); err != nil {
					return usageError{fmt.Errorf("--fen: %w", err)}
				}
			}
			out := c.OutOrStdout()
			began := time.Now()
			var nodes uint64
			if divide {
				notation960 := board.Castles960()
				for _, e := range chess.Divide(&board, depth) {
					fmt.Fprintf(out, "%s: %d\n", board.UCI(e.Move, notation960), e.Nodes)
					nodes += e.Nodes
				}
			} else {
				nodes = chess.Perft(&board, depth)
			}
			elapsed := time.Since(began)
			fmt.Fprintf(out, "%.1f Mnodes/s in %s\n", float64(nodes)/1e6/max(elapsed.Seconds(), 1e-9), elapsed.Round(time.Millisecond))
			fmt.Fprintf(out, "nodes %d\n", nodes)
			return nil
		},
	}
	c.Flags().IntVar(&depth, "depth", 5, "plies, 1 to 20")
	c.Flags().StringVar(&fen, "fen", "", "position (default: the start position); Shredder-FEN and X-FEN for Chess960")
	c.Flags().BoolVar(&divide, "divide", false, "show the count of each first move")
	return c
}
