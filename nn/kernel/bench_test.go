package kernel

import (
	"fmt"
	"testing"
	"time"
)

// benchGFLOPS reports the nominal GFLOP/s and the share of the core's peak in
// precision p.
func benchGFLOPS(b *testing.B, flops float64, p Precision, f func()) {
	peak := PeakGFLOPS(20*time.Millisecond, p)
	f()
	b.ResetTimer()
	for range b.N {
		f()
	}
	b.StopTimer()
	g := flops * float64(b.N) / b.Elapsed().Seconds() / 1e9
	peak = max(peak, PeakGFLOPS(20*time.Millisecond, p))
	b.ReportMetric(g, "GFLOP/s")
	b.ReportMetric(100*g/peak, "%peak")
	b.ReportMetric(peak, "peakGFLOP/s")
}

// convSizes are the layers of a 64x6 net and wider ones.
var convSizes = [][2]int{{64, 64}, {112, 64}, {64, 80}, {32, 32}, {128, 128}}

func eachTier(b *testing.B, f func(b *testing.B)) {
	for _, t := range Tiers() {
		b.Run(t.String(), func(b *testing.B) {
			old := ActiveTier()
			defer func() {
				if err := SetTier(old); err != nil {
					b.Fatal(err)
				}
			}()
			if err := SetTier(t); err != nil {
				b.Fatal(err)
			}
			f(b)
		})
	}
}

func BenchmarkConv3(b *testing.B) {
	const boards = 16
	rng := newRand(b)
	for _, s := range convSizes {
		ci, co := s[0], s[1]
		x, dy := rng.floats(boards*64*ci), rng.floats(boards*64*co)
		w, bias := rng.floats(co*ci*9), rng.floats(co)
		y, dx, dw := make([]float32, len(dy)), make([]float32, len(x)), make([]float32, len(w))
		var pw, pt, sc, st, sg []float32
		p := FP32
		flops := float64(2 * 64 * 9 * ci * co * boards)
		for _, c := range []struct {
			name string
			f    func()
		}{
			{"forward", func() { Conv3(y, x, pw, bias, boards, ci, co, ReLU, p, sc) }},
			{"datagrad", func() { Conv3(dx, dy, pt, nil, boards, co, ci, None, p, st) }},
			{"weightgrad", func() { Conv3WeightGrad(dw, x, dy, boards, ci, co, p, sg) }},
		} {
			b.Run(fmt.Sprintf("%dx%d/%s", ci, co, c.name), func(b *testing.B) {
				eachTier(b, func(b *testing.B) {
					for _, p = range precisions() {
						pw, pt = packedConv(w, ci, co, p), make([]float32, PackedConv3Len(co, ci, p))
						PackConv3Transposed(pt, w, ci, co, p)
						sc, st = make([]float32, Conv3ScratchLen(ci, co, p)), make([]float32, Conv3ScratchLen(co, ci, p))
						sg = make([]float32, Conv3WeightGradScratchLen(ci, co, p))
						b.Run(p.String(), func(b *testing.B) { benchGFLOPS(b, flops, p, c.f) })
					}
				})
			})
		}
	}
}
