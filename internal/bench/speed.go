package bench

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

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
