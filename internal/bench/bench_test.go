package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/kerneltest"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Tests look at no figure that depends on how long the peak is measured.
func init() { peakTime = time.Millisecond }

// options asks for the least work.
func options(net string) Options {
	return Options{Arch: nntest.Named(net), Batch: 3, Threads: 1, Duration: time.Nanosecond}
}

// checkSpeed holds the figures of a line against each other; flops is the work of
// a board.
func checkSpeed(t *testing.T, s *Speed, o *Options, tier kernel.Tier, want kernel.Precision, flops float64) {
	t.Helper()
	if s.Tier != tier.String() || s.Precision != want.String() || s.Net != o.Arch.String() || s.Batch != o.Batch || s.Threads != o.Threads {
		t.Errorf("labels of %+v do not fit %+v in tier %s", s, o, tier)
	}
	for _, v := range []float64{s.BoardsPerSecond, s.GFLOPS, s.ShareOfPeak} {
		if !(v > 0) || math.IsInf(v, 0) {
			t.Fatalf("figures are not positive and finite: %+v", s)
		}
	}
	if want := s.BoardsPerSecond * flops / 1e9; math.Abs(s.GFLOPS-want) > 1e-9*want {
		t.Errorf("%v GFLOP/s, want %v from %v boards/s", s.GFLOPS, want, s.BoardsPerSecond)
	}
}

func TestNewSpeed(t *testing.T) {
	o := options("16x1")
	o.Batch, o.Threads = 50, 2
	s := o.newSpeed(kernel.BF16, 10*time.Millisecond, 2, 1e6, 100)
	// Two batches of 50 in 10 ms: 10 000 boards/s of 1 MFLOP are 10 GFLOP/s, a
	// twentieth of two cores with 100 each.
	if s.Precision != "bf16" || s.BoardsPerSecond != 10000 || s.GFLOPS != 10 || s.ShareOfPeak != 0.05 {
		t.Errorf("got %+v", s)
	}
}

func TestNets(t *testing.T) {
	for _, net := range []string{"16x1", "8x1-plain-mish-classical-scalar-noml"} {
		for _, tier := range []kernel.Tier{kernel.Generic, kernel.BestTier()} {
			kerneltest.InTier(t, tier)
			for threads := 1; threads <= 2; threads++ {
				o := options(net)
				o.Threads = threads
				names := []string{"bf16"} // which a tier without it computes in fp32
				if kernel.HasBF16() {
					names = append(names, PrecisionAuto, "fp32")
				}
				for _, name := range names {
					o.Precision = name
					want := Precision(name)
					s, err := Infer(o)
					if err != nil {
						t.Fatal(err)
					}
					checkSpeed(t, &s, &o, tier, want, float64(o.Arch.FLOPs()))
					if s, err = Train(o); err != nil {
						t.Fatal(err)
					}
					checkSpeed(t, &s, &o, tier, want, 3*float64(o.Arch.FLOPs()))
				}
			}
		}
	}
}

func TestKernels(t *testing.T) {
	for _, tier := range []kernel.Tier{kernel.Generic, kernel.BestTier()} {
		kerneltest.InTier(t, tier)
		bf16, smolgen := 0, 6 // convolutions that have a bf16 form here; what an attention net in bf16 computes in it
		if kernel.HasBF16() {
			bf16, smolgen = 5, 4
		}
		for _, c := range []struct {
			net, precision string
			want           int
		}{{"16x1", PrecisionAuto, 9 + bf16}, {"16x1", "fp32", 9}, {"16x1-plain", "fp32", 8}, {"16x1-plain", "", 8 + bf16}, {"16x1x2h", "fp32", 6}, {"16x1x2h-smolgen", "bf16", smolgen}} {
			o := options(c.net)
			o.Threads, o.Precision = 2, c.precision
			speeds, err := Kernels(o)
			if err != nil {
				t.Fatal(err)
			}
			if len(speeds) != c.want {
				t.Fatalf("%s in %s: %d kernels, want %d", c.net, tier, len(speeds), c.want)
			}
			for i, k := range kernelCases(&o) {
				if speeds[i].Kernel != k.name {
					t.Errorf("line %d is %q, want %q", i, speeds[i].Kernel, k.name)
				}
				checkSpeed(t, &speeds[i].Speed, &o, tier, k.precision, float64(k.flops))
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		change func(o *Options)
		says   string
	}{
		{func(o *Options) { o.Batch = 0 }, "batch 0"},
		{func(o *Options) { o.Batch = MaxBatch + 1 }, "batch 4097"},
		{func(o *Options) { o.Threads = 0 }, "0 threads"},
		{func(o *Options) { o.Threads = MaxThreads + 1 }, "257 threads"},
		{func(o *Options) { o.Duration = 0 }, "duration 0s"},
		{func(o *Options) { o.Duration = 2 * time.Hour }, "duration 2h"},
		{func(o *Options) { o.Precision = "fp8" }, `unknown precision "fp8"`},
		{func(o *Options) { o.Arch.Blocks[0].Width = 0 }, "filters is 0"},
	} {
		o := options("16x1")
		c.change(&o)
		_, err1 := Infer(o)
		_, err2 := Train(o)
		_, err3 := Kernels(o)
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v does not say %q", err, c.says)
			}
		}
	}
	o := options("sparse64")
	if _, err := Kernels(o); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "sparse64") {
		t.Errorf("kernels of a sparse net: %v", err)
	}
	if _, err := TreeWork(0, 1); !errors.Is(err, ErrOptions) {
		t.Errorf("0 simulations: %v", err)
	}
}

// TestJSONKeys holds the names that scripts read.
func TestJSONKeys(t *testing.T) {
	speed := []string{"tier", "precision", "net", "batch", "threads", "boards_per_s", "gflops", "share_of_peak"}
	play := slices.Clip([]string{"evaluator", "tier", "simulations", "games", "workers", "cache_entries", "pools", "clock"})
	for _, c := range []struct {
		v    any
		want []string
	}{
		{Speed{}, speed},
		{KernelSpeed{Kernel: "conv3"}, append([]string{"kernel"}, speed...)},
		{SelfPlayResult{}, append(play, "positions_per_s", "evaluations_per_s", "moves_per_cpu_s", "evaluations_per_cpu_s",
			"evaluations_per_move", "moves", "mean_batch", "cache_hits", "evaluator_share", "cpu_seconds", "seconds")},
		{SelfPlayResult{PlayLabels: PlayLabels{Net: "n", Precision: "p"}, InferencePerCPUSecond: 1, Ratio: 1, RatioLow: 1, RatioHigh: 1},
			[]string{"evaluator", "tier", "precision", "net", "simulations", "games", "workers", "cache_entries", "pools", "clock",
				"positions_per_s", "evaluations_per_s", "moves_per_cpu_s", "evaluations_per_cpu_s", "evaluations_per_move", "moves",
				"mean_batch", "cache_hits", "evaluator_share", "inference_per_cpu_s", "ratio", "ratio_low", "ratio_high", "cpu_seconds", "seconds"}},
		{SearchResult{}, append(play, "nodes_per_cpu_s", "nodes_per_cpu_s_low", "nodes_per_cpu_s_high", "simulations_per_cpu_s",
			"moves_per_cpu_s", "nodes", "cached", "terminal", "moves", "mean_depth", "evaluator_share", "cpu_seconds", "seconds")},
		{PrecisionReport{}, []string{"tier", "net", "net_id", "positions", "choices", "top1_agreement",
			"mean_value_difference", "max_value_difference", "policy_kl", "accepted"}},
	} {
		text, err := json.Marshal(c.v)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for part := range strings.SplitSeq(strings.Trim(string(text), "{}"), ",") {
			key, _, _ := strings.Cut(part, ":")
			keys = append(keys, strings.Trim(key, `"`))
		}
		if !slices.Equal(keys, c.want) {
			t.Errorf("%T has the keys %q, want %q", c.v, keys, c.want)
		}
	}
}

func TestPositions(t *testing.T) {
	const n = 200
	lines, again, other := Positions(n, 7), Positions(n, 7), Positions(n, 8)
	var moves chess.MoveList
	differ, longest := 0, 0
	for i, h := range lines {
		h.Board().GenerateMoves(&moves)
		if moves.N == 0 || h.Terminal(moves.N) != chess.NotOver {
			t.Errorf("position %d is over: %s", i, h.Board().FEN())
		}
		if h.Board().FEN() != again[i].Board().FEN() {
			t.Errorf("position %d differs with the same seed", i)
		}
		if h.Board().Key() != other[i].Board().Key() {
			differ++
		}
		longest = max(longest, h.Len())
	}
	if differ < n*9/10 || longest < maxRandomPly/2 || longest > maxRandomPly {
		t.Errorf("%d of %d differ with another seed, the longest line has %d boards", differ, n, longest)
	}
}

func TestRows(t *testing.T) {
	b := encoding.NewTrainBatch(5)
	appendRows(b, 5)
	if b.N != 5 {
		t.Fatalf("%d rows", b.N)
	}
	copied := encoding.NewTrainBatch(5)
	if err := (sameRows{b}).Next(context.Background(), copied); err != nil {
		t.Fatal(err)
	}
	for i := range b.N {
		sum := 0.0
		for _, p := range b.PolicyOf(i) {
			sum += float64(p)
		}
		if math.Abs(sum-1) > 1e-5 { // some 30 float32 additions
			t.Errorf("row %d: the policy sums to %v", i, sum)
		}
		w, d, l := b.Targets[i][encoding.TargetResult].WDL()
		if w+d+l != 1 || min(w, d, l) < 0 {
			t.Errorf("row %d: result %v %v %v", i, w, d, l)
		}
		if copied.Masks[i] != b.Masks[i] || copied.Targets[i] != b.Targets[i] ||
			!slices.Equal(copied.LegalOf(i), b.LegalOf(i)) || !slices.Equal(copied.PolicyOf(i), b.PolicyOf(i)) {
			t.Errorf("row %d is not handed out as it is", i)
		}
	}
}

func TestTreeWork(t *testing.T) {
	r, err := TreeWork(20, time.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	// The root's own evaluation counts as a visit.
	if r.Simulations != 20 || r.Visits != treeGames*21 || r.Tree <= 0 || r.Evaluator <= 0 {
		t.Errorf("got %+v", r)
	}
}

// A machine that others keep busy is said to be so, and an idle one or one without a load is not.
func TestBusy(t *testing.T) {
	loadFile = filepath.Join(t.TempDir(), "loadavg")
	t.Cleanup(func() { loadFile = "/proc/loadavg" })
	for load, busy := range map[string]bool{"9999.25 8.05 5.56 10/125 371\n": true, "0.00 8.05 5.56 1/125 371\n": false, "": false} {
		filetest.Write(t, loadFile, load)
		want := fmt.Sprintf("idle CPUs: in the last minute the load was 9999.2 on %d; the speeds that are measured now are too low", runtime.NumCPU())
		if got := Missing(); slices.Contains(got, want) != busy || !busy && strings.Contains(strings.Join(got, ""), "idle CPUs") {
			t.Errorf("load %q: %q", load, got)
		}
	}
}
