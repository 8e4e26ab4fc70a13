package trainer

import (
	"math"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// bnEpsilon is added to the variance (FORMATS.md, section 6).
const bnEpsilon = 1e-5

// conv is a 3x3 or 1x1 convolution over [boards][64][ci].
type conv struct {
	e                *engine
	size, ci, co     int // size 3 or 1
	weight, bias     int // parameter indices; bias -1 = none
	packed, turned   []float32
	packedAt         uint64 // engine version of the packed copies
	needsInputGrad   bool
	forwardScratch   int
	backwardScratch  int
	weightGradLength int
}

// newConv makes the convolution whose weights are prefix.weight, with a bias
// where the net has prefix.bias.
func newConv(e *engine, prefix string, needsInputGrad bool) *conv {
	shape := e.shape(prefix + ".weight")
	c := &conv{e: e, co: shape[0], ci: shape[1], size: 1, weight: e.param(prefix + ".weight"), bias: -1, needsInputGrad: needsInputGrad}
	if len(shape) == 4 {
		c.size = shape[2]
	}
	if e.has(prefix + ".bias") {
		c.bias = e.param(prefix + ".bias")
	}
	if c.size == 3 {
		c.packed = make([]float32, kernel.PackedConv3Len(c.ci, c.co))
		c.turned = make([]float32, kernel.PackedConv3Len(c.co, c.ci))
		c.forwardScratch, c.backwardScratch = kernel.Conv3ScratchLen(c.ci), kernel.Conv3ScratchLen(c.co)
		c.weightGradLength = kernel.Conv3WeightGradScratchLen(c.ci, c.co)
	} else {
		c.packed = make([]float32, kernel.PackedMatLen(c.ci, c.co))
		c.turned = make([]float32, kernel.PackedMatLen(c.co, c.ci))
		c.weightGradLength = kernel.MatMulWeightGradScratchLen(c.ci, c.co)
	}
	return c
}

// pack brings the packed copies up to date with the master weights.
func (c *conv) pack() {
	if c.packedAt == c.e.version {
		return
	}
	c.packedAt = c.e.version
	w := c.e.params[c.weight].data
	if c.size == 3 {
		kernel.PackConv3(c.packed, w, c.ci, c.co)
		if c.needsInputGrad {
			kernel.PackConv3Transposed(c.turned, w, c.ci, c.co)
		}
		return
	}
	kernel.PackMat(c.packed, w, c.ci, c.co)
	if c.needsInputGrad {
		kernel.PackMatTransposed(c.turned, w, c.ci, c.co)
	}
}

// forward computes y = conv(x) + bias of a slice.
func (c *conv) forward(s span, y, x []float32) {
	var bias []float32
	if c.bias >= 0 {
		bias = c.e.params[c.bias].data
	}
	y, x = s.rows(y, 64*c.co), s.rows(x, 64*c.ci)
	if c.size == 3 {
		kernel.Conv3(y, x, c.packed, bias, s.n, c.ci, c.co, kernel.None, c.e.workerScratch(s, c.forwardScratch))
		return
	}
	kernel.MatMul(y, x, c.packed, bias, s.n*64, c.ci, c.co, kernel.None)
}

// inputGrad computes the gradient dx of the input of a slice.
func (c *conv) inputGrad(s span, dx, dy []float32) {
	dx, dy = s.rows(dx, 64*c.ci), s.rows(dy, 64*c.co)
	if c.size == 3 {
		kernel.Conv3(dx, dy, c.turned, nil, s.n, c.co, c.ci, kernel.None, c.e.workerScratch(s, c.backwardScratch))
		return
	}
	kernel.MatMul(dx, dy, c.turned, nil, s.n*64, c.co, c.ci, kernel.None)
}

// weightGrad adds the slice's gradient of weights and bias to g.
func (c *conv) weightGrad(s span, g *weightGrads, x, dy []float32) {
	x, dy = s.rows(x, 64*c.ci), s.rows(dy, 64*c.co)
	scratch := c.e.workerScratch(s, c.weightGradLength)
	if c.size == 1 {
		kernel.MatMulWeightGrad(g.of(s, c.weight), g.of(s, c.bias), x, dy, s.n*64, c.ci, c.co, scratch)
		return
	}
	kernel.Conv3WeightGrad(g.of(s, c.weight), x, dy, s.n, c.ci, c.co, scratch)
	if c.bias >= 0 {
		sums := make([]float64, 2*c.co)
		kernel.BatchNormStats(sums[:c.co], sums[c.co:], dy, s.n*64, c.co)
		for i, d := range g.of(s, c.bias) {
			g.of(s, c.bias)[i] = d + float32(sums[i])
		}
	}
}

// params lists the layer's parameters.
func (c *conv) params() []int {
	if c.bias < 0 {
		return []int{c.weight}
	}
	return []int{c.weight, c.bias}
}

// batchNorm normalises [boards][64][c] by channel.
type batchNorm struct {
	e                                    *engine
	c                                    int
	gamma, beta, runningMean, runningVar int // parameter indices
	mean, invStd, scale, shift           []float32
	sum, sumSq                           [][]float64 // by slice
	total, totalXHat                     []float64
}

func newBatchNorm(e *engine, prefix string) *batchNorm {
	c := e.shape(prefix + ".gamma")[0]
	b := &batchNorm{
		e: e, c: c, gamma: e.param(prefix + ".gamma"), beta: e.param(prefix + ".beta"),
		runningMean: e.param(prefix + ".mean"), runningVar: e.param(prefix + ".var"),
		mean: make([]float32, c), invStd: make([]float32, c), scale: make([]float32, c), shift: make([]float32, c),
		total: make([]float64, c), totalXHat: make([]float64, c),
	}
	for range numSlices(e.capacity) {
		b.sum = append(b.sum, make([]float64, c))
		b.sumSq = append(b.sumSq, make([]float64, c))
	}
	return b
}

// measure takes the slice's sums of x.
func (b *batchNorm) measure(s span, x []float32) {
	if b.e.mode == runningStats {
		return
	}
	clear(b.sum[s.slice])
	clear(b.sumSq[s.slice])
	kernel.BatchNormStats(b.sum[s.slice], b.sumSq[s.slice], s.rows(x, 64*b.c), s.n*64, b.c)
}

// settle ends the measuring: it sets mean, invStd, scale and shift and moves the
// pending running statistics. The variance is the population's.
func (b *batchNorm) settle() {
	if b.e.mode == batchStats {
		b.settleBatch()
	} else {
		mean, variance := b.e.params[b.runningMean].data, b.e.params[b.runningVar].data
		for i := range b.c {
			b.mean[i] = mean[i]
			b.invStd[i] = float32(1 / math.Sqrt(float64(variance[i])+bnEpsilon))
		}
	}
	gamma, beta := b.e.params[b.gamma].data, b.e.params[b.beta].data
	for i := range b.c {
		scale := float64(gamma[i]) * float64(b.invStd[i])
		b.scale[i] = float32(scale)
		b.shift[i] = float32(float64(beta[i]) - float64(b.mean[i])*scale)
	}
}

func (b *batchNorm) settleBatch() {
	b.reduce()
	count, m := float64(b.e.boards*64), b.e.bnMomentum
	mean, variance := b.e.running[b.runningMean], b.e.running[b.runningVar]
	for i := range b.c {
		mu := b.total[i] / count
		v := b.totalXHat[i]/count - mu*mu
		if v < 0 {
			v = 0 // rounding; a NaN stays
		}
		b.mean[i], b.invStd[i] = float32(mu), float32(1/math.Sqrt(v+bnEpsilon))
		mean[i] = float32((1-m)*float64(mean[i]) + m*mu)
		variance[i] = float32((1-m)*float64(variance[i]) + m*v)
	}
}

// reduce adds up the slices' sums in slice order.
func (b *batchNorm) reduce() {
	clear(b.total)
	clear(b.totalXHat)
	for s := range numSlices(b.e.boards) {
		for i := range b.c {
			b.total[i] += b.sum[s][i]
			b.totalXHat[i] += b.sumSq[s][i]
		}
	}
}

// settleBackward ends the backward sums: they are the gradients of beta and
// gamma. With running statistics the input's gradient does not depend on them.
func (b *batchNorm) settleBackward() {
	b.reduce()
	gamma, beta := b.e.params[b.gamma].grad, b.e.params[b.beta].grad
	for i := range b.c {
		beta[i], gamma[i] = float32(b.total[i]), float32(b.totalXHat[i])
	}
	if b.e.mode == runningStats {
		clear(b.total)
		clear(b.totalXHat)
	}
}

// measureBackward takes the slice's backward sums. out, if not nil, is the
// output of a ReLU after the batch norm.
func (b *batchNorm) measureBackward(s span, dy, out, x []float32) {
	sum, xhat := b.sum[s.slice], b.sumSq[s.slice]
	clear(sum)
	clear(xhat)
	w := 64 * b.c
	if out != nil {
		kernel.BatchNormReLUBackwardStats(sum, xhat, s.rows(dy, w), s.rows(out, w), s.rows(x, w), b.mean, b.invStd, s.n*64, b.c)
		return
	}
	kernel.BatchNormBackwardStats(sum, xhat, s.rows(dy, w), s.rows(x, w), b.mean, b.invStd, s.n*64, b.c)
}

// inputGrad computes dx of a slice after settleBackward; dx may be dy.
func (b *batchNorm) inputGrad(s span, dx, dy, out, x []float32) {
	w, gamma, count := 64*b.c, b.e.params[b.gamma].data, b.e.boards*64
	if out != nil {
		kernel.BatchNormReLUBackward(s.rows(dx, w), s.rows(dy, w), s.rows(out, w), s.rows(x, w), b.mean, b.invStd, gamma, b.total, b.totalXHat, count, s.n*64, b.c)
		return
	}
	kernel.BatchNormBackward(s.rows(dx, w), s.rows(dy, w), s.rows(x, w), b.mean, b.invStd, gamma, b.total, b.totalXHat, count, s.n*64, b.c)
}

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

// decays says whether weight decay and L2 touch a parameter.
func decays(s nn.ParamSpec) bool { return s.Kind == nn.Weight }
