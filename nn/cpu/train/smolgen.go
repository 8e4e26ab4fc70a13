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
	passes []smolgenPass // by worker: of the slice at work
}

// newSmolgen makes that of an encoder; the first of them, nil for itself, has the shared
// weights.
func newSmolgen(e *engine, name string, b nn.Block, first *smolgen, last bool) *smolgen {
	s := &smolgen{
		e: e, compress: newSquares(e, name+".compress"), fc1: newConv(e, name+".fc1", 0, true).inHalf(), fc2: newConv(e, name+".fc2", 0, true).inHalf(),
		act: kernel.ActOf(b.SmolgenActivation), last: last,
		ln1: newLayerNorm(e, name+".ln1", inner), ln2: newLayerNorm(e, name+".ln2", inner), passes: make([]smolgenPass, len(e.workspaces)),
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

// smolgenPass is what is computed of a slice: a board is one row of its large layers, so
// that a group would not pay for reading their weights. dExtra takes the gradient of what
// is added to the products, [boards][heads][64][64].
type smolgenPass struct {
	w                                                        *workspace
	compressed, pre1, act1, norm1, pre2, act2, norm2, dExtra []float32
}

// compute takes x, a slice's rows, to the inputs of the shared layer.
func (s *smolgen) compute(sp span, x []float32) *smolgenPass {
	p := &s.passes[sp.worker]
	w := s.e.sliceSpace(sp)
	p.w, p.compressed = w, s.compress.on(sp, w, x)
	unit := func(c *conv, ln *layerNorm, x []float32) (pre, act, norm []float32) {
		pre = c.on(sp, w, x)
		act, norm = w.take(len(pre)), w.take(len(pre))
		s.act.Forward(act, pre)
		ln.forward(norm, act, nil)
		return pre, act, norm
	}
	p.pre1, p.act1, p.norm1 = unit(s.fc1, s.ln1, p.compressed)
	p.pre2, p.act2, p.norm2 = unit(s.fc2, s.ln2, p.norm1)
	return p
}

// extra returns what is added to the products of a group, from board at of the slice on.
func (s *smolgen) extra(g span, at int, w *workspace) []float32 {
	c := s.global
	width := c.perBoard * c.ci
	return c.on(g, w, s.passes[g.worker].norm2[at*width:][:g.n*width])
}

// begin computes a slice again for the backward pass. The shared gradient is cleared before
// the first encoder adds.
func (s *smolgen) begin(sp span, x []float32) {
	if s.last {
		clear(s.shared[sp.slice])
	}
	p := s.compute(sp, x)
	p.dExtra = p.w.take(sp.n * s.global.perBoard * s.global.co)
}

// extraGrad is where a group's gradient of extra goes.
func (s *smolgen) extraGrad(g span, at int) []float32 {
	width := s.global.perBoard * s.global.co
	return s.passes[g.worker].dExtra[at*width:][:g.n*width]
}

// back takes the slice's gradient of extra to those of the weights and of x, which it adds
// to dx.
func (s *smolgen) back(sp span, wg *weightGrads, x, dx []float32) {
	p, c := &s.passes[sp.worker], s.global
	w := p.w
	c.addGrad(sp, s.shared[sp.slice], nil, p.norm2, p.dExtra)
	d := w.take(len(p.norm2))
	c.inputGrad(sp, d, p.dExtra)
	unit := func(c *conv, ln *layerNorm, d, x, pre, act []float32) []float32 {
		ln.backward(sp, wg, d, d, d, act, nil)
		s.act.Backward(d, act, pre)
		return c.back(sp, w, wg, x, d)
	}
	d = unit(s.fc2, s.ln2, d, p.norm1, p.pre2, p.act2)
	d = unit(s.fc1, s.ln1, d, p.compressed, p.pre1, p.act1)
	kernel.Add(dx, dx, s.compress.back(sp, w, wg, x, d))
}
