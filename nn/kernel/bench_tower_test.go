package kernel

import (
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// tower is what a 64x6 net with SE costs in kernels: input convolution, twelve
// tower convolutions with SE, policy head and value convolution. Weights are
// shared between layers of one shape, in memory of their own.
type tower struct {
	boards                int
	masks                 [][encoding.NumMasks]uint64
	scalars               []encoding.Scalars
	input                 []float32
	acts                  [][]float32 // per convolution, before batch norm
	outs                  [][]float32 // after it
	grads                 [3][]float32
	w, dw, packed, turned [][]float32
	shape                 [][2]int
	ch, gate, beta, pool  []float32
	sum, sumsq            []float64
	conv, convGrad, fc    []float32
}

func newTower(b *testing.B, boards int) *tower {
	rng := newRand(b)
	t := &tower{boards: boards, masks: make([][encoding.NumMasks]uint64, boards), scalars: make([]encoding.Scalars, boards)}
	for i := range t.masks {
		for p := range t.masks[i] {
			t.masks[i][p] = 1 << rng.IntN(64)
		}
	}
	t.shape = append(t.shape, [2]int{112, 64})
	for range 13 { // six blocks and the policy head's first convolution
		t.shape = append(t.shape, [2]int{64, 64})
	}
	t.shape = append(t.shape, [2]int{64, 80})
	for _, s := range t.shape {
		ci, co := s[0], s[1]
		w := rng.floats(9 * ci * co)
		Scale(w, 0.05)
		t.w, t.dw = append(t.w, w), append(t.dw, make([]float32, len(w)))
		t.packed = append(t.packed, make([]float32, PackedConv3Len(ci, co, FP32)))
		t.turned = append(t.turned, make([]float32, PackedConv3Len(co, ci, FP32)))
		t.acts = append(t.acts, make([]float32, boards*64*co))
		t.outs = append(t.outs, make([]float32, boards*64*co))
	}
	for i := range t.grads {
		t.grads[i] = rng.floats(boards * 64 * 80)
	}
	t.input = make([]float32, boards*64*112)
	t.ch, t.gate, t.beta = rng.floats(80), rng.floats(boards*80), rng.floats(boards*80)
	t.pool, t.fc = make([]float32, boards*80), make([]float32, PackedMatLen(64, 64))
	t.sum, t.sumsq = make([]float64, 80), make([]float64, 80)
	t.conv, t.convGrad = make([]float32, Conv3ScratchLen(112, 112, FP32)), make([]float32, Conv3WeightGradScratchLen(112, 112, FP32))
	t.pack()
	return t
}

func (t *tower) pack() {
	for i, s := range t.shape {
		PackConv3(t.packed[i], t.w[i], s[0], s[1], FP32)
		PackConv3Transposed(t.turned[i], t.w[i], s[0], s[1], FP32)
	}
}

// flops returns the nominal operations of the 3x3 convolutions.
func (t *tower) flops() float64 {
	f := 0.0
	for _, s := range t.shape {
		f += float64(2*64*9*s[0]*s[1]) * float64(t.boards)
	}
	return f
}

// in returns the input of convolution i.
func (t *tower) in(i int) []float32 {
	if i == 0 {
		return t.input
	}
	return t.outs[i-1]
}

// se costs a block's squeeze and excitation: two layers from the pool that
// Conv3Sums wrote, and apply.
func (t *tower) se(out, x, res []float32) {
	MatMul(t.beta, t.pool, t.fc, nil, t.boards, 64, 16, ReLU)
	MatMul(t.gate, t.beta, t.fc, nil, t.boards, 16, 64, None)
	Sigmoid(t.gate, t.gate)
	SEApply(out, f32s(x), t.gate, t.beta, res, t.boards, 64, ReLU)
}

func (t *tower) infer() {
	ExpandInput(t.input, t.masks, t.scalars, t.boards)
	for i, s := range t.shape {
		if i > 0 && i < 13 && i%2 == 0 {
			Conv3Sums(f32s(t.acts[i]), t.pool, t.gate, t.in(i), t.packed[i], t.ch[:s[1]], t.boards, s[0], s[1], None, FP32, t.conv)
			t.se(t.outs[i], t.acts[i], t.outs[i-2])
			continue
		}
		Conv3(t.outs[i], t.in(i), t.packed[i], t.ch[:s[1]], t.boards, s[0], s[1], ReLU, FP32, t.conv)
	}
}

// step is forward with batch statistics, backward and optimizer; the arithmetic
// of the gradients is not that of a real net, its cost is.
func (t *tower) step() {
	rows := t.boards * 64
	ExpandInput(t.input, t.masks, t.scalars, t.boards)
	for i, s := range t.shape {
		c := s[1]
		Conv3Sums(f32s(t.acts[i]), t.pool, t.gate, t.in(i), t.packed[i], nil, t.boards, s[0], c, None, FP32, t.conv)
		if i > 0 && i < 13 && i%2 == 0 {
			t.se(t.outs[i], t.acts[i], t.outs[i-2])
			continue
		}
		BatchNormApply(t.outs[i], f32s(t.acts[i]), t.ch, t.ch, nil, rows, c, ReLU)
	}
	for i := len(t.shape) - 1; i >= 0; i-- {
		ci, c := t.shape[i][0], t.shape[i][1]
		dy, dx, dz := t.grads[i%2][:rows*c], t.grads[(i+1)%2], t.grads[2][:rows*c]
		if i > 0 && i < 13 && i%2 == 0 {
			SEBackward(dy, t.gate, t.beta, dy, t.outs[i], f32s(t.acts[i]), t.boards, c, ReLU)
			SEBackwardInput(dz, dy, t.gate, t.beta, t.boards, c)
			Add(dy, dy, dz)
		}
		clear(t.sum)
		BatchNormReLUBackwardStats(t.sum, t.sumsq, dy, dy, t.outs[i], f32s(t.acts[i]), t.ch, t.ch, rows, c)
		BatchNormBackward(dz, dy, f32s(t.acts[i]), t.ch, t.ch, t.ch, t.sum, t.sumsq, rows, rows, c)
		Conv3WeightGrad(t.dw[i], t.in(i), dz, t.boards, ci, c, FP32, t.convGrad)
		if i > 0 {
			Conv3(dx, dz, t.turned[i], nil, t.boards, c, ci, None, FP32, t.conv)
		}
		SGDNesterov(t.w[i], t.dw[i], t.packed[i][:len(t.w[i])], 0, 0.9, 0)
		clear(t.dw[i])
	}
	t.pack()
}

// BenchmarkTower reports the share of the peak that the kernels of a 64x6 net
// reach at batch 64 in inference (four groups of 16 boards) and in a training
// step (the whole batch layer by layer).
func BenchmarkTower(b *testing.B) {
	b.Run("inference", func(b *testing.B) {
		t := newTower(b, 16)
		benchGFLOPS(b, t.flops()*4, FP32, func() {
			for range 4 {
				t.infer()
			}
		})
	})
	b.Run("step", func(b *testing.B) {
		t := newTower(b, 64)
		first := float64(2*64*9*112*64) * 64 // the input needs no gradient
		benchGFLOPS(b, t.flops()*3-first, FP32, t.step)
	})
}
