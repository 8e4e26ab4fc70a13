package trainer

import (
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// inputLayer expands the bit masks and runs the first convolution, batch norm
// and activation.
type inputLayer struct {
	e   *engine
	u   *unit
	out []float32 // [capacity][64][F]
	wg  *weightGrads
}

func newInputLayer(e *engine) *inputLayer {
	l := &inputLayer{e: e, u: newUnit(e, "input.conv", "input.bn", e.act, false)}
	l.out = make([]float32, len(l.u.z))
	l.wg = newWeightGrads(e, l.u.conv.weight)
	return l
}

func (l *inputLayer) name() string  { return "input" }
func (l *inputLayer) params() []int { return l.u.params() }

// planes returns the input planes of g, [g.n][64][112].
func (l *inputLayer) planes(g span) []float32 {
	x := l.e.workerScratch(g, inputBuffer, g.n*64*encoding.NumPlanes)
	kernel.ExpandInput(x, l.e.batch.Masks[g.lo:], l.e.batch.Scalars[g.lo:], g.n)
	return x
}

// forward returns the activations [capacity][64][F] of the engine's batch.
func (l *inputLayer) forward([]float32) []float32 {
	l.e.eachSlice(func(s span) {
		l.u.bn.begin(s)
		s.eachGroup(func(g span, _ int) { l.u.convolve(g, l.planes(g)) })
	})
	l.u.bn.settle()
	l.e.eachSlice(func(s span) { l.u.activate(s, s.rows(l.out, 64*l.u.conv.co)) })
	return l.out
}

// backward sets the gradients of the parameters; the input has none.
func (l *inputLayer) backward(_, y, dy []float32) []float32 {
	w := 64 * l.u.conv.co
	d := l.e.gradBuffer(0, w)
	l.e.eachSlice(func(s span) {
		l.wg.reset(s)
		l.u.bn.begin(s)
		s.eachGroup(func(g span, _ int) {
			l.u.deactivate(g, g.rows(d, w), g.rows(dy, w), g.rows(y, w))
		})
	})
	l.u.bn.settleBackward()
	l.e.eachSlice(func(s span) {
		s.eachGroup(func(g span, at int) {
			l.u.unnormalise(g, g.rows(d, w))
			l.u.conv.weightGrad(g, at, l.wg, l.planes(g), g.rows(d, w))
		})
		l.u.conv.finishWeightGrad(s, l.wg)
	})
	l.wg.reduce()
	return nil
}

// blockLayer is a residual block: out = act(SE(bn(conv(act(bn(conv x))))) + x).
type blockLayer struct {
	e           *engine
	label       string
	first, last *unit
	se          *squeeze // nil without squeeze-and-excitation
	out, dx     []float32
	wg          *weightGrads
}

func newBlockLayer(e *engine, i int) *blockLayer {
	label := fmt.Sprintf("tower.%d", i)
	b := &blockLayer{
		e: e, label: label,
		first: newUnit(e, label+".conv1", label+".bn1", e.act, true),
		last:  newUnit(e, label+".conv2", label+".bn2", kernel.None, true),
	}
	weights := []int{b.first.conv.weight, b.last.conv.weight}
	if e.has(label + ".se.fc1.weight") {
		b.se = newSqueeze(e, label+".se")
		weights = append(weights, b.se.params()...)
	}
	b.out = make([]float32, len(b.last.z))
	b.dx = make([]float32, len(b.last.z))
	b.wg = newWeightGrads(e, weights...)
	return b
}

func (b *blockLayer) name() string { return b.label }

func (b *blockLayer) params() []int {
	p := append(b.first.params(), b.last.params()...)
	if b.se != nil {
		p = append(p, b.se.params()...)
	}
	return p
}

// forward returns the block's output for x, both [capacity][64][F].
func (b *blockLayer) forward(x []float32) []float32 {
	w := 64 * b.last.conv.co
	b.e.eachSlice(func(s span) {
		b.first.bn.begin(s)
		s.eachGroup(func(g span, _ int) { b.first.convolve(g, g.rows(x, w)) })
	})
	b.first.bn.settle()
	b.e.eachSlice(func(s span) {
		b.last.bn.begin(s)
		s.eachGroup(func(g span, _ int) { b.last.convolve(g, b.first.activation(g)) })
	})
	b.last.bn.settle()
	b.e.eachSlice(func(s span) {
		s.eachGroup(func(g span, _ int) {
			if b.se != nil {
				b.se.measure(g, b.last)
			}
			b.join(g, g.rows(b.out, w), g.rows(x, w), b.e.act)
		})
	})
	return b.out
}

// join computes out = act(gate*bn(z) + beta + x), rows of g.
func (b *blockLayer) join(g span, out, x []float32, act kernel.Act) {
	c := b.last.conv.co
	z := g.rows(b.last.z, 64*c)
	if b.se == nil {
		kernel.BatchNormApplyResidual(out, z, b.last.bn.scale, b.last.bn.shift, x, g.n*64, c, act)
		return
	}
	kernel.SEApply(out, z, g.rows(b.se.scale, c), g.rows(b.se.shift, c), x, g.n, c, act)
}

// backward sets the gradients of the parameters and returns that of x. x and y
// are the forward pass's input and output, dy the output's gradient.
func (b *blockLayer) backward(x, y, dy []float32) []float32 {
	w := 64 * b.last.conv.co
	dres, dz, dh := b.e.gradBuffer(0, w), b.e.gradBuffer(1, w), b.e.gradBuffer(2, w)
	b.e.eachSlice(func(s span) {
		b.wg.reset(s)
		b.last.bn.begin(s)
		s.eachGroup(func(g span, _ int) {
			b.split(g, g.rows(dres, w), g.rows(dz, w), g.rows(x, w), g.rows(y, w), g.rows(dy, w))
			b.last.deactivate(g, g.rows(dz, w), g.rows(dz, w), nil)
		})
	})
	b.last.bn.settleBackward()
	b.e.eachSlice(func(s span) {
		b.first.bn.begin(s)
		s.eachGroup(func(g span, at int) {
			dz, dh, h := g.rows(dz, w), g.rows(dh, w), b.first.activation(g)
			b.last.unnormalise(g, dz)
			b.last.conv.weightGrad(g, at, b.wg, h, dz)
			b.last.conv.inputGrad(g, dh, dz)
			b.first.deactivate(g, dh, dh, h)
		})
		b.last.conv.finishWeightGrad(s, b.wg)
	})
	b.first.bn.settleBackward()
	b.e.eachSlice(func(s span) {
		s.eachGroup(func(g span, at int) {
			dh, dx := g.rows(dh, w), g.rows(b.dx, w)
			b.first.unnormalise(g, dh)
			b.first.conv.weightGrad(g, at, b.wg, g.rows(x, w), dh)
			b.first.conv.inputGrad(g, dx, dh)
			kernel.Add(dx, dx, g.rows(dres, w))
		})
		b.first.conv.finishWeightGrad(s, b.wg)
	})
	b.wg.reduce()
	return b.dx
}

// split takes dy back through the last activation, rows of g: dres is the
// gradient of the residual connection, dz that of the batch norm's output.
func (b *blockLayer) split(g span, dres, dz, x, y, dy []float32) {
	act := b.e.act
	if act == kernel.Mish {
		pre := b.e.workerScratch(g, preBuffer, len(dres))
		b.join(g, pre, x, kernel.None)
		kernel.MishBackward(dres, dy, pre)
		dy, act = dres, kernel.None
	}
	if b.se == nil {
		if act == kernel.ReLU {
			kernel.ReLUBackward(dres, dy, y)
		}
		copy(dz, dres)
		return
	}
	b.se.backward(g, b.wg, dz, dres, dy, y, b.last, act)
}
