package cpu

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/nn/kernel"
)

// BenchmarkEvaluate reports boards/s of one goroutine and nominal GFLOP/s
// (nn.Arch.FLOPs; Winograd needs a quarter of a convolution's products). Boards/s
// is that of the fastest run: means say more about what else the machine does.
func BenchmarkEvaluate(b *testing.B) {
	for _, name := range []string{"32x4", "64x6", "128x10", "sparse128", "sparse256"} {
		for _, p := range []kernel.Precision{kernel.FP32, kernel.BF16} {
			for _, batch := range []int{1, 8, 64} {
				b.Run(fmt.Sprintf("%s/%s/%d", name, p, batch), func(b *testing.B) {
					n := testNet(b, name, 1)
					c, err := New(n, p)
					if err != nil {
						b.Fatal(err)
					}
					e, positions := c.NewEvaluator(batch), chessLikeBatch(batch)
					best := time.Duration(math.MaxInt64)
					for b.Loop() {
						start := time.Now()
						evaluate(b, e, positions)
						best = min(best, time.Since(start))
					}
					perSecond := float64(batch) / best.Seconds()
					b.ReportMetric(perSecond, "boards/s")
					b.ReportMetric(perSecond*float64(n.Arch.FLOPs())/1e9, "GFLOP/s")
				})
			}
		}
	}
}
