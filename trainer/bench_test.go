package trainer

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/nn"
)

// BenchmarkStep measures training steps of one worker: samples/s of the fastest
// step, nominal GFLOP/s (three forward passes; Winograd needs a quarter of a
// convolution's products) and the share of the time that Gorgonia's machine takes.
func BenchmarkStep(b *testing.B) {
	for _, net := range []struct{ filters, blocks int }{{64, 6}, {128, 10}} {
		for _, amp := range []bool{false, true} {
			for _, batch := range []int{64, 256} {
				name := fmt.Sprintf("%dx%d/%d/amp=%v", net.filters, net.blocks, batch, amp)
				b.Run(name, func(b *testing.B) { benchStep(b, net.filters, net.blocks, batch, amp) })
			}
		}
	}
}

func benchStep(b *testing.B, filters, blocks, batch int, amp bool) {
	a := nn.DefaultArch()
	a.Filters, a.Blocks = filters, blocks
	cfg := DefaultConfig()
	cfg.BatchSize, cfg.Workers, cfg.Precision = batch, 1, precisionOf(amp)
	tr := newTestTrainer(b, nn.Init(a, 1), cfg)
	src := newRowsSource(1, batch, -1)
	mustStep(b, tr, src)
	best := time.Duration(math.MaxInt64)
	var layers, machine time.Duration
	for b.Loop() {
		s := mustStep(b, tr, src)
		best = min(best, s.ComputeTime+s.UpdateTime)
	}
	for range b.N {
		l, m := machineTime(tr)
		layers, machine = layers+l, machine+m
	}
	perSecond := float64(batch) / best.Seconds()
	b.ReportMetric(perSecond, "samples/s")
	b.ReportMetric(perSecond*3*float64(a.FLOPs())/1e9, "GFLOP/s")
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
