package trainer

import "github.com/chessbrain/chessbrain/nn/kernel"

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
	p := e.precision
	c := &conv{e: e, co: shape[0], ci: shape[1], size: 1, weight: e.param(prefix + ".weight"), bias: -1, needsInputGrad: needsInputGrad}
	if len(shape) == 4 {
		c.size = shape[2]
	}
	if e.has(prefix + ".bias") {
		c.bias = e.param(prefix + ".bias")
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

// forward computes y = conv(x) + bias of a slice.
func (c *conv) forward(s span, y, x []float32) {
	var bias []float32
	if c.bias >= 0 {
		bias = c.e.params[c.bias].data
	}
	y, x = s.rows(y, 64*c.co), s.rows(x, 64*c.ci)
	if c.size == 3 {
		kernel.Conv3(y, x, c.packed, bias, s.n, c.ci, c.co, kernel.None, c.e.precision, c.e.workerScratch(s, c.forwardScratch))
		return
	}
	kernel.MatMul(y, x, c.packed, bias, s.n*64, c.ci, c.co, kernel.None)
}

// inputGrad computes the gradient dx of the input of a slice.
func (c *conv) inputGrad(s span, dx, dy []float32) {
	dx, dy = s.rows(dx, 64*c.ci), s.rows(dy, 64*c.co)
	if c.size == 3 {
		kernel.Conv3(dx, dy, c.turned, nil, s.n, c.co, c.ci, kernel.None, c.e.precision, c.e.workerScratch(s, c.backwardScratch))
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
	kernel.Conv3WeightGrad(g.of(s, c.weight), x, dy, s.n, c.ci, c.co, c.e.precision, scratch)
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
