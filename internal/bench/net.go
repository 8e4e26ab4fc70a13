package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/trainer"
)

const (
	netSeed = 1
	// forwardsPerStep is how many forward passes a training step counts as: the
	// forward pass, the gradient of the activations and that of the weights.
	forwardsPerStep = 3
	// learningRate keeps weights finite on rows that repeat for ever.
	learningRate = 1e-4
)

// Infer measures evaluations of o.Threads evaluators of one net, each on its own
// thread and batch, from bit masks to policy, WDL and moves left.
func Infer(o Options) (Speed, error) {
	if err := o.Validate(); err != nil {
		return Speed{}, err
	}
	p := Precision(o.Precision)
	works, err := evaluations(&o, p)
	if err != nil {
		return Speed{}, err
	}
	var best time.Duration
	peak, err := withPeak(p, func() (err error) { best, err = bestTime(o.Duration, works); return err })
	return o.newSpeed(p, best, o.Threads, float64(o.Arch.FLOPs()), peak), err
}

// evaluations makes an evaluator and its batch for each thread.
func evaluations(o *Options, p kernel.Precision) ([]work, error) {
	net, err := cpu.New(nn.Init(o.Arch, netSeed), p)
	if err != nil {
		return nil, err
	}
	works := make([]work, o.Threads)
	for i := range works {
		e, b := net.NewEvaluator(o.Batch), inferenceBatch(o.Batch, i)
		works[i] = func() error { return e.Evaluate(context.Background(), b) }
	}
	return works, nil
}

// Train measures training steps: forward, backward and optimizer (SGD with
// Nesterov momentum, the default losses) of one trainer with o.Threads workers.
// The reading of rows is not counted.
func Train(o Options) (s Speed, err error) {
	if err := o.Validate(); err != nil {
		return s, err
	}
	p, used := Precision(o.Precision), device.FP32
	if p == kernel.BF16 {
		used = device.BF16
	}
	cfg := trainConfig(o.Arch, o.Batch, used)
	cfg.Workers = o.Threads
	t, err := trainer.New(nn.Init(o.Arch, netSeed), cfg)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	var best time.Duration
	peak, err := withPeak(p, func() (err error) { best, err = bestStep(t, &o); return err })
	return o.newSpeed(p, best, 1, forwardsPerStep*float64(o.Arch.FLOPs()), peak), err
}

// trainConfig trains a net in micro-batches of so many rows.
func trainConfig(a nn.Arch, rows int, p device.Precision) trainer.Config {
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.Precision = rows, p
	cfg.Schedule, cfg.Losses = trainer.ConstantLR(learningRate), trainer.LossesFor(a, cfg.Losses)
	return cfg
}

// bestStep returns the shortest compute time of a step.
func bestStep(t *trainer.Trainer, o *Options) (time.Duration, error) {
	src, best := newSameRows(o.Batch), time.Duration(math.MaxInt64)
	err := again(o.Duration, minRuns+1, func() error {
		s, err := t.Step(context.Background(), src)
		if err == nil && (s.Skipped || s.Rows != o.Batch) {
			err = fmt.Errorf("training step %d: skipped %v, %d rows of %d", s.Step, s.Skipped, s.Rows, o.Batch)
		}
		if s.Step > 1 { // the first one is cold
			best = min(best, s.ComputeTime+s.UpdateTime)
		}
		return err
	})
	return max(best, 1), err
}

// sameRows is a batch source that hands out the same rows for ever.
type sameRows struct{ rows *encoding.TrainBatch }

func newSameRows(n int) sameRows {
	s := sameRows{encoding.NewTrainBatch(n)}
	appendRows(s.rows, n)
	return s
}

// Peek fills b; see trainer.Peeker.
func (s sameRows) Peek(b *encoding.TrainBatch) (uint64, bool) {
	return 0, s.Next(context.Background(), b) == nil
}

// Take takes what Peek showed.
func (s sameRows) Take(uint64) bool { return true }

// Next fills b.
func (s sameRows) Next(_ context.Context, b *encoding.TrainBatch) error {
	b.CopyFrom(s.rows)
	return nil
}

// Speed is one line of the result. The JSON names are an interface: scripts
// read them.
type Speed struct {
	Tier            string  `json:"tier"`
	Precision       string  `json:"precision"`
	Net             string  `json:"net"`
	Batch           int     `json:"batch"`
	Threads         int     `json:"threads"`
	BoardsPerSecond float64 `json:"boards_per_s"` // of all threads; training: rows
	GFLOPS          float64 `json:"gflops"`       // nominal, of all threads
	ShareOfPeak     float64 `json:"share_of_peak"`
}

// newSpeed returns the speed of work that takes best for one batch on each of
// copies threads, flops operations a board, beside the core's peak in precision p.
func (o *Options) newSpeed(p kernel.Precision, best time.Duration, copies int, flops, peak float64) Speed {
	boards := float64(copies*o.Batch) / best.Seconds()
	gflops := boards * flops / 1e9
	return Speed{
		Tier: kernel.ActiveTier().String(), Precision: p.String(),
		Net: o.Arch.String(), Batch: o.Batch, Threads: o.Threads,
		BoardsPerSecond: boards, GFLOPS: gflops,
		ShareOfPeak: gflops / (peak * float64(o.Threads)),
	}
}

// Nominal says what the figures of a Speed count.
const Nominal = `Operations are nominal (2*64*9*Ci*Co a 3x3 convolution
and board), the peak is that of this core's registers in the same precision, measured
in the same run; Winograd needs a quarter of the products: shares above 100 % are real`

// WriteSpeeds prints a table for a person. title is the name of what has no kernel.
func WriteSpeeds(w io.Writer, title string, speeds []KernelSpeed) error {
	fmt.Fprint(w, "                                 tier     precision  net          batch threads    boards/s  GFLOP/s* of peak*\n")
	for _, s := range speeds {
		fmt.Fprintf(w, "%-32s %-8s %-10s %-12s %5d %7d %11.0f %9.1f %7.1f%%\n", cmp.Or(s.Kernel, title),
			s.Tier, s.Precision, s.Net, s.Batch, s.Threads, s.BoardsPerSecond, s.GFLOPS, 100*s.ShareOfPeak)
	}
	_, err := fmt.Fprintln(w, "* "+Nominal)
	return err
}

// The size of what All measures.
const (
	StandardNet   = "64x6"
	StandardBatch = 64
	treeVisits    = 200
)

// All prints the search's signature, and the speed of the search, the kernels,
// inference and a training step of the standard net, all in one run.
func All(w io.Writer, d time.Duration) error {
	arch, err := nn.ParseArch(StandardNet)
	if err != nil {
		return err
	}
	o := Options{Arch: arch, Batch: StandardBatch, Threads: 1, Duration: d}
	if err := o.Validate(); err != nil {
		return err
	}
	fmt.Fprintf(w, "signature %016x\n", mcts.Signature())
	tree, err := TreeWork(treeVisits, d)
	if err != nil {
		return err
	}
	microseconds := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	fmt.Fprintf(w, "search    %.2f us of tree work a simulation (%d simulations a search; hash evaluator %.2f us beside)\n\n",
		microseconds(tree.Tree), tree.Simulations, microseconds(tree.Evaluator))
	short := o
	short.Duration = max(d/4, 1)
	kernels, err := Kernels(short)
	if err != nil {
		return err
	}
	if err := WriteSpeeds(w, "", kernels); err != nil {
		return err
	}
	precisions, nets := o.precisions(), []KernelSpeed{}
	for i, measure := range []func(Options) (Speed, error){Infer, Train} {
		for _, p := range precisions {
			o.Precision = p.String()
			s, err := measure(o)
			if err != nil {
				return err
			}
			nets = append(nets, KernelSpeed{[...]string{"inference", "training step"}[i], s})
		}
	}
	fmt.Fprintln(w)
	return WriteSpeeds(w, "", nets)
}
