package train

import (
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// smolgen is what an encoder makes of the whole position and adds to the products of
// queries and keys. All encoders share the weights of the last layer.
type smolgen struct {
	e                  *engine
	compress, fc1, fc2 *conv
	global             *conv
	ln1, ln2           *layerNorm
	act                kernel.Act
	last               bool // of the last encoder, whose backward pass comes first

	// shared is the gradient of global, by slice: the encoders add to it, and the first
	// one, whose backward pass is the last, hands it out.
	shared [][]float32
}

// newSmolgen makes that of an encoder; the first of them, nil for itself, has the shared
// weights.
func newSmolgen(e *engine, name string, b nn.Block, first *smolgen, last bool) *smolgen {
	s := &smolgen{
		e: e, compress: newSquares(e, name+".compress"), fc1: newConv(e, name+".fc1", 0, true).inHalf(), fc2: newConv(e, name+".fc2", 0, true).inHalf(),
		act: kernel.ActOf(b.SmolgenActivation), last: last,
		ln1: newLayerNorm(e, name+".ln1", inner), ln2: newLayerNorm(e, name+".ln2", inner),
	}
	if first != nil {
		s.global, s.shared = first.global, first.shared
		return s
	}
	s.global = newConv(e, "smolgen", 0, true).inHalf()
	s.global.perBoard = b.Heads
	for range e.maxSlices() {
		s.shared = append(s.shared, make([]float32, s.global.ci*s.global.co))
	}
	return s
}

// inner is how norms without a skip go.
var inner = nn.Residual{Scale: 1, Epsilon: nn.InnerEpsilon}

type smolgenPass struct{ compressed, pre1, act1, norm1, pre2, act2, norm2, extra []float32 }

func (s *smolgen) compute(g span, w *workspace, x []float32) (p smolgenPass) {
	p.compressed = s.compress.on(g, w, x)
	unit := func(c *conv, ln *layerNorm, x []float32) (pre, act, norm []float32) {
		pre = c.on(g, w, x)
		act, norm = w.take(len(pre)), w.take(len(pre))
		s.act.Forward(act, pre)
		ln.forward(norm, act, nil)
		return pre, act, norm
	}
	p.pre1, p.act1, p.norm1 = unit(s.fc1, s.ln1, p.compressed)
	p.pre2, p.act2, p.norm2 = unit(s.fc2, s.ln2, p.norm1)
	p.extra = s.global.on(g, w, p.norm2)
	return p
}

// begin clears the slice's part of the shared gradient before the first encoder adds.
func (s *smolgen) begin(sp span) {
	if s.last {
		clear(s.shared[sp.slice])
	}
}

// back returns the gradient of x.
func (s *smolgen) back(g span, w *workspace, wg *weightGrads, x []float32, p smolgenPass, dExtra []float32) []float32 {
	c := s.global
	c.addGrad(g, s.shared[g.slice], nil, p.norm2, dExtra)
	d := w.take(len(p.norm2))
	c.inputGrad(g, d, dExtra)
	unit := func(c *conv, ln *layerNorm, d, x, pre, act []float32) []float32 {
		ln.backward(g, wg, d, d, d, act, nil)
		s.act.Backward(d, act, pre)
		return c.back(g, w, wg, x, d)
	}
	d = unit(s.fc2, s.ln2, d, p.norm1, p.pre2, p.act2)
	d = unit(s.fc1, s.ln1, d, p.compressed, p.pre1, p.act1)
	return s.compress.back(g, w, wg, x, d)
}
