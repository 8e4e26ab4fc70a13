package cpu

import (
	"math"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/nn/kernel"
)

// BenchmarkEvaluate reports boards/s of one goroutine at batch 64 and the share
// of the core's fp32 peak: done counts the operations that are carried out (the
// last policy convolution only at about 12 squares), nominal those of
// nn.Arch.FLOPs. Boards/s is that of the fastest run, as the peak is: means say
// more about what else the machine does.
func BenchmarkEvaluate(b *testing.B) {
	for _, name := range []string{"32x4", "64x6", "128x10"} {
		b.Run(name, func(b *testing.B) {
			const batch = 64
			n := testNet(b, name, 1)
			e := newEvaluator(b, n, batch)
			positions := chessLikeBatch(batch)
			peak := kernel.PeakGFLOPS(200 * time.Millisecond)
			best := time.Duration(math.MaxInt64)
			for b.Loop() {
				start := time.Now()
				evaluate(b, e, positions)
				best = min(best, time.Since(start))
			}
			perSecond := batch / best.Seconds()
			nominal := float64(n.Arch.FLOPs())
			lastConv := float64(2 * 64 * 9 * n.Arch.Filters * 80)
			done := nominal - lastConv*(1-chessLikeSquares/64.0)
			b.ReportMetric(perSecond, "boards/s")
			b.ReportMetric(perSecond*nominal/1e9/peak*100, "%nominal")
			b.ReportMetric(perSecond*done/1e9/peak*100, "%peak")
			b.ReportMetric(peak, "peakGFLOP/s")
		})
	}
}
