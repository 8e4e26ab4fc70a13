package train

import "github.com/chessbrain/chessbrain/nn/kernel"

// conv is a 3x3 or 1x1 convolution over [boards][64][ci].
type conv struct {
	e                *engine
	size, ci, co     int // size 3 or 1
	weight, bias     int // parameter indices; bias -1 = none
	packed, turned   []float32
	needsInputGrad   bool
	forwardScratch   int
	backwardScratch  int
	weightGradLength int
	biasSums         [][]float64 // by slice: sums and sums of squares of dy
}

// newConv makes the convolution whose weights are prefix.weight, with a bias
// where the net has prefix.bias.
func newConv(e *engine, prefix string, needsInputGrad bool) *conv {
	shape := e.shape(prefix + ".weight")
	p := e.precision
	c := &conv{e: e, co: shape[0], ci: shape[1], size: 1, weight: e.param(prefix + ".weight"), bias: -1, needsInputGrad: needsInputGrad}
	if len(shape) == 4 {
		c.size = shape[2]
	}
	if e.has(prefix + ".bias") {
		c.bias = e.param(prefix + ".bias")
		for range e.maxSlices() {
			c.biasSums = append(c.biasSums, make([]float64, 2*c.co))
		}
	}
	if c.size == 3 {
		c.packed = make([]float32, kernel.PackedConv3Len(c.ci, c.co, p))
		c.turned = make([]float32, kernel.PackedConv3Len(c.co, c.ci, p))
		c.forwardScratch, c.backwardScratch = kernel.Conv3ScratchLen(c.ci, c.co, p), kernel.Conv3ScratchLen(c.co, c.ci, p)
		c.weightGradLength = kernel.Conv3WeightGradScratchLen(c.ci, c.co, p)
	} else {
		c.packed = make([]float32, kernel.PackedMatLen(c.ci, c.co))
		c.turned = make([]float32, kernel.PackedMatLen(c.co, c.ci))
		c.weightGradLength = kernel.MatMulWeightGradScratchLen(c.ci, c.co)
	}
	e.packers = append(e.packers, c)
	return c
}

// pack copies the master weights for the kernels.
func (c *conv) pack() {
	w := c.e.params[c.weight].data
	if c.size == 3 {
		kernel.PackConv3(c.packed, w, c.ci, c.co, c.e.precision)
		if c.needsInputGrad {
			kernel.PackConv3Transposed(c.turned, w, c.ci, c.co, c.e.precision)
		}
		return
	}
	kernel.PackMat(c.packed, w, c.ci, c.co)
	if c.needsInputGrad {
		kernel.PackMatTransposed(c.turned, w, c.ci, c.co)
	}
}

// forward computes y = conv(x) + bias, the rows of g.
func (c *conv) forward(g span, y, x []float32) {
	var bias []float32
	if c.bias >= 0 {
		bias = c.e.params[c.bias].data
	}
	if c.size == 3 {
		kernel.Conv3(y, x, c.packed, bias, g.n, c.ci, c.co, kernel.None, c.e.precision, c.e.workerScratch(g, convScratch, c.forwardScratch))
		return
	}
	kernel.MatMul(y, x, c.packed, bias, g.n*64, c.ci, c.co, kernel.None)
}

// forwardSums computes y = conv(x) without bias for size 3, the rows of g, and
// the sums of y and of its squares over each board.
func (c *conv) forwardSums(g span, y kernel.Stored, sum, squares, x []float32) {
	kernel.Conv3Sums(y, sum, squares, x, c.packed, nil, g.n, c.ci, c.co, kernel.None, c.e.precision, c.e.workerScratch(g, convScratch, c.forwardScratch))
}

// inputGrad computes the gradient dx of the input, rows of g.
func (c *conv) inputGrad(g span, dx, dy []float32) {
	if c.size == 3 {
		kernel.Conv3(dx, dy, c.turned, nil, g.n, c.co, c.ci, kernel.None, c.e.precision, c.e.workerScratch(g, convScratch, c.backwardScratch))
		return
	}
	kernel.MatMul(dx, dy, c.turned, nil, g.n*64, c.co, c.ci, kernel.None)
}

// weightGrad takes a group's part of the gradients of weights and bias; at is
// the number of its first board in the slice. finishWeightGrad ends the slice;
// no other 3x3 layer's weightGrad may come between.
func (c *conv) weightGrad(g span, at int, wg *weightGrads, x, dy []float32) {
	if c.size == 1 { // needs no memory between groups: gradScratch may be another layer's
		scratch := c.e.workerScratch(g, convScratch, c.weightGradLength)
		kernel.MatMulWeightGrad(wg.of(g, c.weight), wg.of(g, c.bias), x, dy, g.n*64, c.ci, c.co, scratch)
		return
	}
	kernel.Conv3WeightGradAdd(c.e.workerScratch(g, gradScratch, c.weightGradLength), x, dy, at, g.n, c.ci, c.co, c.e.precision)
	if c.bias >= 0 {
		sums := c.biasSums[g.slice]
		clear(sums)
		kernel.BatchNormStats(sums[:c.co], sums[c.co:], dy, g.n*64, c.co)
		bias := wg.of(g, c.bias)
		for i, v := range sums[:c.co] {
			bias[i] += float32(v)
		}
	}
}

// finishWeightGrad puts the slice's gradient of the weights into wg.
func (c *conv) finishWeightGrad(s span, wg *weightGrads) {
	if c.size == 3 {
		kernel.Conv3WeightGradSum(wg.of(s, c.weight), c.e.workerScratch(s, gradScratch, c.weightGradLength), s.n, c.ci, c.co, c.e.precision)
	}
}

// params lists the layer's parameters.
func (c *conv) params() []int {
	if c.bias < 0 {
		return []int{c.weight}
	}
	return []int{c.weight, c.bias}
}
