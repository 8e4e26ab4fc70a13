package kernel

import (
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// BenchmarkMath times the activations over 32 boards of 64 channels in GB/s of
// arrays read and written.
func BenchmarkMath(b *testing.B) {
	const n = 32 * 64 * 64
	rng := newRand(b)
	x, y, z := rng.floats(n), rng.floats(n), rng.floats(n)
	for _, p := range []struct {
		name   string
		arrays int
		f      func()
	}{
		{"Mish", 2, func() { MishForward(y, x) }},
		{"MishBackward", 3, func() { MishBackward(y, z, x) }},
		{"Sigmoid", 2, func() { Sigmoid(y, x) }},
		{"Sigmoid64", 0, func() { Sigmoid(y[:64], x[:64]) }},
		{"Tanh", 2, func() { Tanh(y, x) }},
		{"ReLU", 2, func() { ReLUForward(y, x) }},
		{"ReLU2", 2, func() { ReLU2.Forward(y, x) }},
		{"Swish", 2, func() { Swish.Forward(y, x) }},
		{"SwishBackward", 3, func() { Swish.Backward(y, nil, x) }},
		{"SELU", 2, func() { SELU.Forward(y, x) }},
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

// BenchmarkEncoder times the passes of a board through a layer of an attention net with
// 256 channels and 8 heads, apart from products.
func BenchmarkEncoder(b *testing.B) {
	const c, heads = 256, 8
	rng := newRand(b)
	x, y, skip, p := rng.floats(64*c), rng.floats(64*c), rng.floats(64*c), rng.floats(heads*64*64)
	gamma, beta, dgamma, dbeta := rng.floats(c), rng.floats(c), rng.floats(c), rng.floats(c)
	dz, dp, q := rng.floats(64*c), rng.floats(heads*64*64), rng.floats(heads*64*64)
	for _, s := range []struct {
		name string
		rows int
		f    func()
	}{
		{"LayerNorm64x256", 64, func() { LayerNorm(y, x, skip, 0.5, gamma, beta, 64, c, 1e-3) }},
		{"SoftmaxRows512x64", heads * 64, func() { SoftmaxRows(p, heads*64, 64) }},
		{"LayerNormBackward64x256", 64, func() { LayerNormBackward(dz, dgamma, dbeta, y, x, skip, 0.5, gamma, 64, c, 1e-3) }},
		{"SoftmaxRowsBackward512x64", heads * 64, func() { SoftmaxRowsBackward(dp, p, q, heads*64, 64) }},
		{"Softmax512x64", heads * 64, func() {
			for r := range heads * 64 {
				Softmax(p[r*64:][:64])
			}
		}},
	} {
		b.Run(s.name, func(b *testing.B) {
			eachTier(b, func(b *testing.B) {
				for range b.N {
					s.f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*s.rows), "ns/row")
			})
		})
	}
}

// BenchmarkLosses times the outputs of batches with 35 legal moves a position.
func BenchmarkLosses(b *testing.B) {
	const moves, rowLen = 35, 64 * encoding.NumConvPlanes
	rng := newRand(b)
	for _, rows := range []int{64, 256} {
		off := NewConvPolicyOffsets(encoding.ConvPolicyIndex())
		start, legal := make([]int32, rows+1), make([]uint16, rows*moves)
		target := rng.floats(rows * moves)
		for i := range legal {
			legal[i], target[i] = uint16(rng.IntN(encoding.NumPolicy)), 1.0/moves
		}
		for i := range start {
			start[i] = int32(i * moves)
		}
		y, dy, prob := rng.floats(rows*rowLen), make([]float32, rows*rowLen), rng.floats(rows*moves)
		wdl, dwdl := rng.floats(rows*3), make([]float32, rows*3)
		for _, p := range []struct {
			name string
			f    func()
		}{
			{"SoftmaxPolicy", func() {
				for i := range rows {
					Softmax(prob[start[i]:start[i+1]])
				}
			}},
			{"SoftmaxWDL", func() {
				for i := range rows {
					Softmax(wdl[i*3:][:3])
				}
			}},
			{"PolicyCrossEntropy", func() {
				for i := range rows {
					at := i * moves
					PolicyCrossEntropy(dy[i*rowLen:][:rowLen], prob[at:], y[i*rowLen:], off, legal[at:][:moves], target[at:], 1)
				}
			}},
			{"WDLCrossEntropy", func() {
				for i := range rows {
					_, grad := WDLCrossEntropy([3]float32(wdl[3*i:]), [3]float32{1. / 3, 1. / 3, 1. / 3}, 1)
					copy(dwdl[3*i:], grad[:])
				}
			}},
		} {
			b.Run(p.name, func(b *testing.B) {
				for range b.N {
					p.f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
			})
		}
	}
}
