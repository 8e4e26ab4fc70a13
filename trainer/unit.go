package trainer

import "github.com/chessbrain/chessbrain/nn/kernel"

// unit is a convolution without bias, batch norm and activation. Batch norm
// needs the whole micro-batch, so each pass has two phases with a barrier
// between them, which the caller may fuse with its neighbours' phases.
type unit struct {
	conv *conv
	bn   *batchNorm
	act  kernel.Act
	z, h []float32 // convolution output and activation, [capacity][64][co]
}

// newUnit makes the unit of prefix conv (weights) and bn.
func newUnit(e *engine, conv, bn string, act kernel.Act, needsInputGrad bool) *unit {
	u := &unit{conv: newConv(e, conv, needsInputGrad), bn: newBatchNorm(e, bn), act: act}
	u.z = make([]float32, e.capacity*64*u.conv.co)
	if act != kernel.None {
		u.h = make([]float32, len(u.z))
	}
	return u
}

// params lists what is trained, the convolution's weight first.
func (u *unit) params() []int { return append(u.conv.params(), u.bn.gamma, u.bn.beta) }

// convolve is the first phase of the forward pass; bn.settle follows.
func (u *unit) convolve(s span, x []float32) {
	u.conv.forward(s, u.z, x)
	u.bn.measure(s, u.z)
}

// activate is the second phase: h = act(bn(z)).
func (u *unit) activate(s span) {
	w := 64 * u.conv.co
	kernel.BatchNormApply(s.rows(u.h, w), s.rows(u.z, w), u.bn.scale, u.bn.shift, s.n*64, u.conv.co, u.act)
}

// deactivate is the first phase of the backward pass: d holds the gradient of h
// and, for Mish, becomes that of the batch norm's output. settleBackward follows.
func (u *unit) deactivate(s span, d []float32) {
	w := 64 * u.conv.co
	if u.act == kernel.Mish {
		pre := u.conv.e.workerScratch(s, s.n*w)
		kernel.BatchNormApply(pre, s.rows(u.z, w), u.bn.scale, u.bn.shift, s.n*64, u.conv.co, kernel.None)
		kernel.MishBackward(s.rows(d, w), s.rows(d, w), pre)
	}
	u.bn.measureBackward(s, d, u.mask(), u.z)
}

// unconvolve is the second phase: d becomes the gradient of z, and the slice's
// weight gradient is added to g.
func (u *unit) unconvolve(s span, g *weightGrads, x, d []float32) {
	u.bn.inputGrad(s, d, d, u.mask(), u.z)
	u.conv.weightGrad(s, g, x, d)
}

// mask is the ReLU's output, nil for another activation.
func (u *unit) mask() []float32 {
	if u.act == kernel.ReLU {
		return u.h
	}
	return nil
}
