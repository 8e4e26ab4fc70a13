package trainer

import (
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// BenchmarkStep measures a training step of a 64x6 net, batch 64, one worker: its
// share of the core's fp32 peak (three forward passes' nominal operations) and
// the share of the time that Gorgonia's machine takes.
func BenchmarkStep(b *testing.B) {
	a := nn.DefaultArch()
	a.Filters, a.Blocks = 64, 6
	const batch = 64
	cfg := DefaultConfig()
	cfg.BatchSize, cfg.Workers = batch, 1
	tr := newTestTrainer(b, nn.Init(a, 1), cfg)
	src := newRowsSource(1, batch, -1)
	mustStep(b, tr, src)
	peak := kernel.PeakGFLOPS(200 * time.Millisecond)
	var compute, data, layers, machine time.Duration
	for b.Loop() {
		s := mustStep(b, tr, src)
		compute += s.ComputeTime + s.UpdateTime
		data += s.DataTime
	}
	for range b.N {
		l, m := machineTime(tr)
		layers, machine = layers+l, machine+m
	}
	perSecond := float64(batch*b.N) / compute.Seconds()
	gflops := perSecond * 3 * float64(a.FLOPs()) / 1e9
	b.ReportMetric(perSecond, "samples/s")
	b.ReportMetric(gflops, "GFLOP/s")
	b.ReportMetric(100*gflops/peak, "%peak")
	b.ReportMetric(100*float64(machine-layers)/float64(machine), "%gorgonia")
	b.ReportMetric(0, "ns/op") // holds the making of random rows
}

// machineTime runs the graph once and returns the time spent in our layers and
// the whole.
func machineTime(tr *Trainer) (layers, whole time.Duration) {
	timed := &timedLayers{}
	tr.g.observe = timed.add
	start := time.Now()
	if _, err := tr.g.run(); err != nil {
		panic(err)
	}
	whole = time.Since(start)
	tr.g.observe = nil
	return timed.sum, whole
}

type timedLayers struct{ sum time.Duration }

func (t *timedLayers) add(_ string, d time.Duration) { t.sum += d }
