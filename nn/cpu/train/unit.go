package train

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
	// z [capacity][64][co] is in bf16 where the convolution multiplies that: later
	// passes are bound by the memory it comes from.
	z kernel.Stored
	// boardSum is the sum of z over the squares, [capacity][co]; set where the
	// convolution gives it (size 3).
	boardSum []float32
}

// newUnit makes the unit of prefix conv (weights) and bn.
func newUnit(e *engine, conv, bn string, act kernel.Act, needsInputGrad bool) *unit {
	u := &unit{conv: newConv(e, conv, 0, needsInputGrad), bn: newBatchNorm(e, bn), act: act}
	half := u.conv.size == 3 && e.precision == kernel.BF16 && kernel.StoresBF16(u.conv.ci, u.conv.co)
	u.z = kernel.NewStored(e.capacity*64*u.conv.co, half)
	u.boardSum = make([]float32, e.capacity*u.conv.co)
	return u
}

// params lists what is trained, the convolution's weight first.
func (u *unit) params() []int { return append(u.conv.params(), u.bn.gamma, u.bn.beta) }

// output is z of the rows of g.
func (u *unit) output(g span) kernel.Stored {
	w := 64 * u.conv.co
	return u.z.Slice(g.lo*w, g.n*w)
}

// convolve is the first phase of the forward pass over x, the rows of g;
// bn.begin comes before the first group, bn.settle after all.
func (u *unit) convolve(g span, x []float32) {
	c := u.conv
	z := u.output(g)
	if c.size == 1 {
		c.forward(g, z.F32, x)
		if c.e.mode == batchStats {
			kernel.BatchNormStats(u.bn.sum[g.slice], u.bn.sumSq[g.slice], z.F32, g.n*64, c.co)
		}
		return
	}
	sum, squares := g.rows(u.boardSum, c.co), c.e.workerScratch(g, sumBuffer, g.n*c.co)
	scratch := c.e.workerScratch(g, convScratch, c.forwardScratch)
	kernel.Conv3Sums(z, sum, squares, x, c.packed, nil, g.n, c.ci, c.co, kernel.None, c.e.precision, scratch)
	u.bn.addBoards(g, sum, squares)
}

// activate sets h = act(bn(z)), the rows of g.
func (u *unit) activate(g span, h []float32) {
	kernel.BatchNormApply(h, u.output(g), u.bn.scale, u.bn.shift, nil, g.n*64, u.conv.co, u.act)
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
	z, bn := u.output(g), u.bn
	switch u.act {
	case kernel.ReLU:
		kernel.BatchNormReLUBackwardStats(bn.sum[g.slice], bn.sumSq[g.slice], d, dy, h, z, bn.mean, bn.invStd, g.n*64, bn.c)
		return
	case kernel.Mish:
		pre := u.conv.e.workerScratch(g, preBuffer, len(d))
		kernel.BatchNormApply(pre, z, bn.scale, bn.shift, nil, g.n*64, u.conv.co, kernel.None)
		kernel.MishBackward(d, dy, pre)
	}
	kernel.BatchNormBackwardStats(bn.sum[g.slice], bn.sumSq[g.slice], d, z, bn.mean, bn.invStd, g.n*64, bn.c)
}

// unnormalise is the second phase: it returns the gradient of z, the rows of g, in
// the worker's memory, from d, that of the batch norm's output.
func (u *unit) unnormalise(g span, d []float32) []float32 {
	e, bn := u.conv.e, u.bn
	dz := e.workerScratch(g, normBuffer, len(d))
	kernel.BatchNormBackward(dz, d, u.output(g), bn.mean, bn.invStd, e.params[bn.gamma].data, bn.total, bn.totalXHat, e.boards*64, g.n*64, bn.c)
	return dz
}

// inputPass is the first phase of the forward pass over x [capacity][64][ci].
func (u *unit) inputPass(x []float32) phase {
	return phase{
		begin: u.bn.begin,
		group: func(g span, _ int) { u.convolve(g, g.rows(x, 64*u.conv.ci)) },
	}
}

// headPhase is the second phase of a head's unit: from d, the gradient of the
// batch norm's output, it takes the weights' gradient to wg and sets dx to that of
// the input x, or adds it; both [capacity][64][ci].
func (u *unit) headPhase(wg *weightGrads, x, d, dx []float32, add bool) phase {
	width := 64 * u.conv.ci
	return phase{
		group: func(g span, at int) {
			dz := u.unnormalise(g, g.rows(d, 64*u.conv.co))
			u.conv.weightGrad(g, at, wg, g.rows(x, width), dz)
			to := g.rows(dx, width)
			if !add {
				u.conv.inputGrad(g, to, dz)
				return
			}
			part := u.conv.e.workerScratch(g, actBuffer, g.n*width)
			u.conv.inputGrad(g, part, dz)
			kernel.Add(to, to, part)
		},
		end: func(s span) { u.conv.finishWeightGrad(s, wg) },
	}
}
