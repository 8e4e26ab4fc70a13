package train

import "github.com/chessbrain/chessbrain/nn/kernel"

// conv is a 3x3 or 1x1 convolution over [boards][64][ci], or a fully connected layer over
// [boards][ci]. Where that stands after a convolution, its weights in the net count
// inputs as channel*64 + square (docs/FORMATS.md); activations count square*channels +
// channel, so the packed copies are permuted.
type conv struct {
	e                *engine
	size, ci, co     int // size 3 or 1
	perBoard         int // rows of a board: 64, or 1 of a fully connected layer
	channels         int // of the convolution before a fully connected layer; 0 = plain rows
	weight, bias     int // parameter indices, the first ones of a joint; bias -1 = none
	packed, turned   []float32
	half, halfGrad   bool      // products, and those of the weights' gradient, are bf16: see inHalf
	squares          []float32 // weights or their gradient in the activations' order
	needsInputGrad   bool
	forwardScratch   int
	backwardScratch  int
	weightGradLength int
	biasSums         [][]float64 // by slice: sums and sums of squares of dy
	own              [][]float32 // by worker: see apart
}

// newConv makes the layer whose weights are prefix.weight, with a bias where the net has
// prefix.bias.
func newConv(e *engine, prefix string, channels int, needsInputGrad bool) *conv {
	shape := e.shape(prefix + ".weight")
	p := e.precision
	c := &conv{e: e, co: shape[0], ci: shape[1], size: 1, perBoard: 1, channels: channels, needsInputGrad: needsInputGrad}
	c.weight, c.bias = e.param(prefix+".weight"), e.param(prefix+".bias")
	if len(shape) == 4 {
		c.size, c.perBoard = shape[2], 64
	}
	if channels > 0 {
		c.squares = make([]float32, c.co*c.ci)
	}
	if c.size == 3 {
		c.packed = make([]float32, kernel.PackedConv3Len(c.ci, c.co, p))
		c.turned = make([]float32, kernel.PackedConv3Len(c.co, c.ci, p))
		c.forwardScratch, c.backwardScratch = kernel.Conv3ScratchLen(c.ci, c.co, p), kernel.Conv3ScratchLen(c.co, c.ci, p)
		c.weightGradLength = kernel.Conv3WeightGradScratchLen(c.ci, c.co, p)
		if c.bias >= 0 {
			for range e.maxSlices() {
				c.biasSums = append(c.biasSums, make([]float64, 2*c.co))
			}
		}
	} else {
		c.packed = make([]float32, kernel.PackedMatLen(c.ci, c.co))
		c.turned = make([]float32, kernel.PackedMatLen(c.co, c.ci))
		c.weightGradLength = kernel.MatMulWeightGradScratchLen(c.ci, c.co)
	}
	e.packers = append(e.packers, c)
	return c
}

// inHalf makes the products of a fully connected layer bf16 where training is and the
// kernels have them.
func (c *conv) inHalf() *conv {
	if c.e.precision != kernel.BF16 || !kernel.MatMulHasBF16(c.ci, c.co) || c.channels > 0 {
		return c
	}
	c.half = true
	c.packed, c.turned = make([]float32, kernel.PackedMatBF16Len(c.ci, c.co)), make([]float32, kernel.PackedMatBF16Len(c.co, c.ci))
	c.forwardScratch, c.backwardScratch = kernel.MatMulBF16ScratchLen(c.ci, c.co), kernel.MatMulBF16ScratchLen(c.co, c.ci)
	if c.halfGrad = kernel.MatMulWeightGradHasBF16(c.ci, c.co); c.halfGrad {
		c.weightGradLength = kernel.MatMulWeightGradBF16ScratchLen(c.ci, c.co)
	}
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
	if c.channels > 0 {
		kernel.TransposeRows(c.squares, w, c.co, c.channels, 64)
		w = c.squares
	}
	c.packMat(w)
}

// packMat copies the weights w [co][ci] of a fully connected layer for the kernels.
func (c *conv) packMat(w []float32) {
	if c.half {
		kernel.PackMatBF16(c.packed, w, c.ci, c.co)
		kernel.PackMatTransposedBF16(c.turned, w, c.ci, c.co)
		return
	}
	kernel.PackMat(c.packed, w, c.ci, c.co)
	if c.needsInputGrad {
		kernel.PackMatTransposed(c.turned, w, c.ci, c.co)
	}
}

// forward computes the outputs y of x with the bias, rows of g.
func (c *conv) forward(g span, y, x []float32) {
	var bias []float32
	if c.bias >= 0 {
		bias = c.e.params[c.bias].data
	}
	c.forwardWith(g, y, x, bias)
}

// forwardWith is forward with a bias, which may be nil.
func (c *conv) forwardWith(g span, y, x, bias []float32) {
	c.product(g, y, x, c.packed, bias, c.ci, c.co, c.forwardScratch)
}

// inputGrad computes the gradient dx of the input, rows of g.
func (c *conv) inputGrad(g span, dx, dy []float32) {
	c.product(g, dx, dy, c.turned, nil, c.co, c.ci, c.backwardScratch)
}

// product applies packed weights to rows x of g. bias may be nil.
func (c *conv) product(g span, y, x, packed, bias []float32, ci, co, scratch int) {
	switch {
	case c.size == 3:
		kernel.Conv3(y, x, packed, bias, g.n, ci, co, kernel.None, c.e.precision, c.e.workerScratch(g, convScratch, scratch))
	case c.half:
		kernel.MatMulBF16(y, x, packed, bias, g.n*c.perBoard, ci, co, kernel.None, c.e.workerScratch(g, convScratch, scratch))
	default:
		kernel.MatMul(y, x, packed, bias, g.n*c.perBoard, ci, co, kernel.None)
	}
}

// weightGrad takes a group's part of the gradients of weights and bias; at is
// the number of its first board in the slice. finishWeightGrad ends the slice;
// no other 3x3 layer's weightGrad may come between, but of layers that are apart.
func (c *conv) weightGrad(g span, at int, wg *weightGrads, x, dy []float32) {
	if c.size == 1 { // needs no memory between groups: gradScratch may be another layer's
		c.addGrad(g, wg.from(g.slice, c.weight, c.co*c.ci), wg.from(g.slice, c.bias, c.co), x, dy)
		return
	}
	kernel.Conv3WeightGradAdd(c.gradSpace(g), x, dy, at, g.n, c.ci, c.co, c.e.precision)
	if c.bias >= 0 {
		sums := c.biasSums[g.slice]
		clear(sums)
		kernel.BatchNormStats(sums[:c.co], sums[c.co:], dy, g.n*64, c.co)
		bias := wg.of(g.slice, c.bias)
		for i, v := range sums[:c.co] {
			bias[i] += float32(v)
		}
	}
}

// apart gives a 3x3 layer its own memory for what groups leave to each other: several
// convolutional policy heads work together.
func (c *conv) apart() {
	if c.size == 3 {
		c.own = make([][]float32, len(c.e.scratch))
		for worker := range c.own {
			c.own[worker] = make([]float32, c.weightGradLength)
		}
	}
}

// gradSpace is the worker's memory of a 3x3 layer's weight gradient, over the groups of a slice.
func (c *conv) gradSpace(s span) []float32 {
	if c.own != nil {
		return c.own[s.worker]
	}
	return c.e.workerScratch(s, gradScratch, c.weightGradLength)
}

// addGrad adds a group's part of the gradients of a fully connected layer's weights and
// bias to dw and db, which may be nil.
func (c *conv) addGrad(g span, dw, db, x, dy []float32) {
	rows, scratch := g.n*c.perBoard, c.e.workerScratch(g, convScratch, c.weightGradLength)
	if c.halfGrad {
		kernel.MatMulWeightGradBF16(dw, db, x, dy, rows, c.ci, c.co, scratch)
		return
	}
	kernel.MatMulWeightGrad(dw, db, x, dy, rows, c.ci, c.co, scratch)
}

// restore turns the summed weight gradient, which is in the order of the activations,
// into the net's order.
func (c *conv) restore() {
	grad := c.e.params[c.weight].grad
	copy(c.squares, grad)
	kernel.TransposeRows(grad, c.squares, c.co, 64, c.channels)
}

// finishWeightGrad puts the slice's gradient of the weights into wg.
func (c *conv) finishWeightGrad(s span, wg *weightGrads) {
	if c.size == 3 {
		kernel.Conv3WeightGradSum(wg.of(s.slice, c.weight), c.gradSpace(s), s.n, c.ci, c.co, c.e.precision)
	}
}

// params lists the layer's parameters.
func (c *conv) params() []int {
	if c.bias < 0 {
		return []int{c.weight}
	}
	return []int{c.weight, c.bias}
}

// on returns the outputs of x, a group's rows, in w.
func (c *conv) on(g span, w *workspace, x []float32) []float32 {
	y := w.take(g.n * c.perBoard * c.co)
	c.forward(g, y, x)
	return y
}

// back adds to wg and returns the gradient of the inputs x in w.
func (c *conv) back(g span, w *workspace, wg *weightGrads, x, dy []float32) []float32 {
	c.weightGrad(g, 0, wg, x, dy)
	dx := w.take(g.n * c.perBoard * c.ci)
	c.inputGrad(g, dx, dy)
	return dx
}
