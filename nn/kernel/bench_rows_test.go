package kernel

import (
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// BenchmarkRows times the passes over activations of 32 boards of 64 channels
// (512 KiB an array) in GB/s of arrays read and written.
func BenchmarkRows(b *testing.B) {
	const boards, c = 32, 64
	const rows, n = boards * 64, boards * 64 * c
	rng := newRand(b)
	x, y, z, o := rng.floats(n), rng.floats(n), rng.floats(n), rng.floats(n)
	ch, bc, bc2 := rng.floats(c), rng.floats(boards*c), rng.floats(boards*c)
	s1, s2 := make([]float64, c), make([]float64, c)
	v := rng.floats(n)
	for i := range v {
		v[i] *= v[i]
	}
	for _, p := range []struct {
		name   string
		arrays int
		f      func()
	}{
		{"Memcpy", 2, func() { copy(y, x) }},
		{"BatchNormStats", 1, func() { BatchNormStats(s1, s2, x, rows, c) }},
		{"BatchNormApply", 2, func() { BatchNormApply(y, f32s(x), ch, ch, nil, rows, c, ReLU) }},
		{"BatchNormReLUBackwardStats", 4, func() { BatchNormReLUBackwardStats(s1, s2, o, y, z, f32s(x), ch, ch, rows, c) }},
		{"BatchNormBackward", 3, func() { BatchNormBackward(o, y, f32s(x), ch, ch, ch, s1, s2, rows, rows, c) }},
		{"SEApply", 3, func() { SEApply(o, f32s(x), bc, bc2, z, boards, c, ReLU) }},
		{"SEBackward", 4, func() { SEBackward(o, bc, bc2, y, z, f32s(x), boards, c, ReLU) }},
		{"SEBackwardInput", 2, func() { SEBackwardInput(o, z, bc, bc2, boards, c) }},
		{"Add", 3, func() { Add(o, x, z) }},
		{"SGDNesterov", 5, func() { SGDNesterov(o, x, z, 1e-9, 0.9, 0) }},
		{"AdamW", 7, func() { AdamW(o, x, z, v, 1e-9, 0.9, 0.99, 1e-8, 0, 1, 1) }},
		{"NAdamW", 7, func() { NAdamW(o, x, z, v, 1e-9, 0.9, 0.99, 1e-8, 0, 1, 1, 1) }},
		{"SumSquares", 1, func() { SumSquares(x) }},
	} {
		b.Run(p.name, func(b *testing.B) {
			eachTier(b, func(b *testing.B) {
				b.SetBytes(int64(p.arrays) * n * 4)
				for range b.N {
					p.f()
				}
			})
		})
	}
}

func BenchmarkExpandInput(b *testing.B) {
	const boards = 32
	rng := newRand(b)
	masks, scalars := make([][encoding.NumMasks]uint64, boards), make([]encoding.Scalars, boards)
	for i := range masks {
		for p := range masks[i] {
			if p%13 != 12 {
				masks[i][p] = 1<<rng.IntN(64) | 1<<rng.IntN(64) | 1<<rng.IntN(64)
			}
		}
	}
	x := make([]float32, boards*64*encoding.NumPlanes)
	for range b.N {
		ExpandInput(x, masks, scalars, boards)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N*boards), "ns/board")
}

func BenchmarkMatMul(b *testing.B) {
	rng := newRand(b)
	for _, s := range []struct {
		name       string
		rows, k, n int
	}{{"value-conv", 64 * 64, 64, 32}, {"value-fc", 64, 2048, 128}, {"value-fc-1", 1, 2048, 128}, {"se-fc", 64, 64, 16}} {
		x, dy, w := rng.floats(s.rows*s.k), rng.floats(s.rows*s.n), rng.floats(s.n*s.k)
		y, dw := make([]float32, len(dy)), make([]float32, len(w))
		packed := make([]float32, PackedMatLen(s.k, s.n))
		PackMat(packed, w, s.k, s.n)
		flops := float64(2 * s.rows * s.k * s.n)
		b.Run(s.name+"/forward", func(b *testing.B) {
			benchGFLOPS(b, flops, FP32, func() { MatMul(y, x, packed, nil, s.rows, s.k, s.n, None) })
		})
		b.Run(s.name+"/weightgrad", func(b *testing.B) {
			scratch := make([]float32, MatMulWeightGradScratchLen(s.k, s.n))
			benchGFLOPS(b, flops, FP32, func() { MatMulWeightGrad(dw, nil, x, dy, s.rows, s.k, s.n, scratch) })
		})
	}
}
