package bench

import (
	"time"

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
