package trainer

import "github.com/chessbrain/chessbrain/nn/kernel"

// unit is a convolution without bias, batch norm and activation. Batch norm
// needs the whole micro-batch, so each pass has two phases with a barrier
// between them, which the caller may fuse with its neighbours' phases. Only the
// convolution's output z is kept: activations are computed again where they are
// needed, which costs less than reading them from memory.
type unit struct {
	conv *conv
	bn   *batchNorm
	act  kernel.Act
	z    []float32 // [capacity][64][co]
	// boardSum is the sum of z over the squares, [capacity][co]; set where the
	// convolution gives it (size 3).
	boardSum []float32
}

// newUnit makes the unit of prefix conv (weights) and bn.
func newUnit(e *engine, conv, bn string, act kernel.Act, needsInputGrad bool) *unit {
	u := &unit{conv: newConv(e, conv, needsInputGrad), bn: newBatchNorm(e, bn), act: act}
	u.z = make([]float32, e.capacity*64*u.conv.co)
	u.boardSum = make([]float32, e.capacity*u.conv.co)
	return u
}

// params lists what is trained, the convolution's weight first.
func (u *unit) params() []int { return append(u.conv.params(), u.bn.gamma, u.bn.beta) }

// convolve is the first phase of the forward pass over x, the rows of g;
// bn.begin comes before the first group, bn.settle after all.
func (u *unit) convolve(g span, x []float32) {
	c := u.conv
	z := g.rows(u.z, 64*c.co)
	if c.size == 1 {
		c.forward(g, z, x)
		u.bn.measure(g, z)
		return
	}
	sum, squares := g.rows(u.boardSum, c.co), c.e.workerScratch(g, sumBuffer, g.n*c.co)
	c.forwardSums(g, z, sum, squares, x)
	u.bn.addBoards(g, sum, squares)
}

// activate sets h = act(bn(z)), the rows of g.
func (u *unit) activate(g span, h []float32) {
	w := 64 * u.conv.co
	kernel.BatchNormApply(h, g.rows(u.z, w), u.bn.scale, u.bn.shift, g.n*64, u.conv.co, u.act)
}

// activation returns act(bn(z)) of g in the worker's memory.
func (u *unit) activation(g span) []float32 {
	h := u.conv.e.workerScratch(g, actBuffer, g.n*64*u.conv.co)
	u.activate(g, h)
	return h
}

// deactivate is the first phase of the backward pass: from dy, the gradient of
// the activation h, it takes d, that of the batch norm's output, rows of g all of
// them; d may be dy. Without an activation d must be dy and h is not read.
// bn.begin comes before the first group, settleBackward after all.
func (u *unit) deactivate(g span, d, dy, h []float32) {
	w := 64 * u.conv.co
	z := g.rows(u.z, w)
	switch u.act {
	case kernel.ReLU:
		u.bn.measureReLUBackward(g, d, dy, h, z)
		return
	case kernel.Mish:
		pre := u.conv.e.workerScratch(g, preBuffer, g.n*w)
		kernel.BatchNormApply(pre, z, u.bn.scale, u.bn.shift, g.n*64, u.conv.co, kernel.None)
		kernel.MishBackward(d, dy, pre)
	}
	u.bn.measureBackward(g, d, z)
}

// unnormalise is the second phase: d, the rows of g, becomes the gradient of z.
func (u *unit) unnormalise(g span, d []float32) {
	u.bn.inputGrad(g, d, g.rows(u.z, 64*u.conv.co))
}

// inputGrad is the second phase of a head's unit over a slice: from d, the
// gradient of the batch norm's output, it takes the weights' gradient to wg and
// sets dx to that of the input x, or adds it; both [capacity][width].
func (u *unit) inputGrad(s span, wg *weightGrads, x, d, dx []float32, width int, add bool) {
	s.eachGroup(func(g span, at int) {
		d := g.rows(d, 64*u.conv.co)
		u.unnormalise(g, d)
		u.conv.weightGrad(g, at, wg, g.rows(x, width), d)
		to := g.rows(dx, width)
		if !add {
			u.conv.inputGrad(g, to, d)
			return
		}
		part := u.conv.e.workerScratch(g, actBuffer, g.n*width)
		u.conv.inputGrad(g, part, d)
		kernel.Add(to, to, part)
	})
	u.conv.finishWeightGrad(s, wg)
}
