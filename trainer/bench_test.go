package trainer

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/nn"
)

// BenchmarkStep measures training steps of one worker: samples/s of the fastest
// step and nominal GFLOP/s (three forward passes; Winograd needs a quarter of a
// convolution's products).
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
	a := nn.Tower(filters, blocks)
	cfg := DefaultConfig()
	cfg.BatchSize, cfg.Workers, cfg.Precision = batch, 1, precisionOf(amp)
	tr := newTestTrainer(b, nn.Init(a, 1), cfg)
	src := newRowsSource(1, batch, -1)
	mustStep(b, tr, src)
	best := time.Duration(math.MaxInt64)
	for b.Loop() {
		s := mustStep(b, tr, src)
		best = min(best, s.ComputeTime+s.UpdateTime)
	}
	perSecond := float64(batch) / best.Seconds()
	b.ReportMetric(perSecond, "samples/s")
	b.ReportMetric(perSecond*3*float64(a.FLOPs())/1e9, "GFLOP/s")
	b.ReportMetric(0, "ns/op") // holds the making of random rows
}
