package kernels

import (
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/emulated"
)

// The emulator's cost of a product of tensor cores, and of a change of threads.
func BenchmarkEmulator(b *testing.B) {
	const n, warps = 10000, 8
	for _, kernel := range []string{"test_switch", "test_fragments_bf16", "test_fragments_fp16"} {
		b.Run(kernel, func(b *testing.B) {
			d, _, s := openWith(b, emulated.Options{})
			a := memoryArgs{in: uploadOf(b, d, s, make([]uint32, 32*10)), out: alloc(b, d, warps*32*16), n: n}
			for b.Loop() {
				must(b, primitive(b, d, s, kernel, line(1), line(warps*32), 0, a))
			}
			rounds := float64(b.N) * n * warps
			b.ReportMetric(b.Elapsed().Seconds()*1e9/rounds/32, "ns/lane")
			if kernel != "test_switch" {
				b.ReportMetric(rounds*4096/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			}
		})
	}
}
