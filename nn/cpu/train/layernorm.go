package train

import (
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// layerNorm is the layer norm of scale*x + skip over c channels.
type layerNorm struct {
	e           *engine
	gamma, beta int // parameter indices
	c           int
	scale       float32
	epsilon     float32
}

func newLayerNorm(e *engine, prefix string, r nn.Residual) *layerNorm {
	return &layerNorm{e: e, gamma: e.param(prefix + ".gamma"), beta: e.param(prefix + ".beta"), c: e.shape(prefix + ".gamma")[0],
		scale: float32(r.Scale), epsilon: float32(r.Epsilon)}
}

func (n *layerNorm) params() []int { return []int{n.gamma, n.beta} }

// forward sets y, rows of c; skip may be nil.
func (n *layerNorm) forward(y, x, skip []float32) {
	kernel.LayerNorm(y, x, skip, n.scale, n.e.params[n.gamma].data, n.e.params[n.beta].data, len(y)/n.c, n.c, n.epsilon)
}

// backward sets dSkip and dx from dy; dSkip may be dy. skip may be nil, and then dx and
// dSkip may be one.
func (n *layerNorm) backward(s span, wg *weightGrads, dx, dSkip, dy, x, skip []float32) {
	kernel.LayerNormBackward(dSkip, wg.of(s.slice, n.gamma), wg.of(s.slice, n.beta), dy, x, skip, n.scale, n.e.params[n.gamma].data, len(dy)/n.c, n.c, n.epsilon)
	if &dx[0] != &dSkip[0] || n.scale != 1 {
		kernel.Scaled(dx, dSkip, n.scale)
	}
}
