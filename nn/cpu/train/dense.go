package train

import "github.com/chessbrain/chessbrain/nn/kernel"

// dense is a fully connected layer over one row a board. Its weights in the net
// count inputs as channel*64 + square (docs/FORMATS.md) where it stands
// after a convolution; activations count square*channels + channel, so the
// packed copies are permuted.
type dense struct {
	e              *engine
	k, n           int // inputs, outputs
	channels       int // of the convolution before it; 0 = plain rows
	weight, bias   int
	packed, turned []float32
	squares        []float32 // weights or their gradient in the activations' order
}

func newDense(e *engine, prefix string, channels int) *dense {
	shape := e.shape(prefix + ".weight")
	d := &dense{e: e, n: shape[0], k: shape[1], channels: channels, weight: e.param(prefix + ".weight"), bias: e.param(prefix + ".bias")}
	d.packed = make([]float32, kernel.PackedMatLen(d.k, d.n))
	d.turned = make([]float32, kernel.PackedMatLen(d.n, d.k))
	if channels > 0 {
		d.squares = make([]float32, d.n*d.k)
	}
	e.packers = append(e.packers, d)
	return d
}

func (d *dense) params() []int { return []int{d.weight, d.bias} }

// pack copies the master weights for the kernels.
func (d *dense) pack() {
	w := d.e.params[d.weight].data
	if d.channels > 0 {
		kernel.TransposeRows(d.squares, w, d.n, d.channels, 64)
		w = d.squares
	}
	kernel.PackMat(d.packed, w, d.k, d.n)
	kernel.PackMatTransposed(d.turned, w, d.k, d.n)
}

// forward computes y [boards][n] = act(x W^T + bias), rows of s.
func (d *dense) forward(s span, y, x []float32, act kernel.Act) {
	kernel.MatMul(y, x, d.packed, d.e.params[d.bias].data, s.n, d.k, d.n, act)
}

// inputGrad computes the gradient dx of the input, rows of s.
func (d *dense) inputGrad(s span, dx, dy []float32) {
	kernel.MatMul(dx, dy, d.turned, nil, s.n, d.n, d.k, kernel.None)
}

// weightGrad adds the gradient of s's rows to g, the weights' in the order of the
// activations: restore puts it right after the sum.
func (d *dense) weightGrad(s span, g *weightGrads, x, dy []float32) {
	scratch := d.e.workerScratch(s, convScratch, kernel.MatMulWeightGradScratchLen(d.k, d.n))
	kernel.MatMulWeightGrad(g.of(s, d.weight), g.of(s, d.bias), x, dy, s.n, d.k, d.n, scratch)
}

// restore turns the summed weight gradient into the net's order.
func (d *dense) restore() {
	if d.channels == 0 {
		return
	}
	grad := d.e.params[d.weight].grad
	copy(d.squares, grad)
	kernel.TransposeRows(grad, d.squares, d.n, 64, d.channels)
}

// activate applies act to a pre-activation in a separate buffer, because Mish's
// gradient needs its input.
func activate(y, x []float32, act kernel.Act) {
	switch act {
	case kernel.ReLU:
		kernel.ReLUForward(y, x)
	case kernel.Mish:
		kernel.MishForward(y, x)
	default:
		copy(y, x)
	}
}

// deactivate turns the gradient d of y = act(x) into that of x, in place.
func deactivate(d, y, x []float32, act kernel.Act) {
	switch act {
	case kernel.ReLU:
		kernel.ReLUBackward(d, d, y)
	case kernel.Mish:
		kernel.MishBackward(d, d, x)
	}
}
