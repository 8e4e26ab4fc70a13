package train

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
	l.out = make([]float32, e.capacity*64*l.u.conv.co)
	l.wg = newWeightGrads(e, l.u.conv)
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

// forward returns the activations [capacity][64][F] of the engine's batch, which
// the next phase computes.
func (l *inputLayer) forward([]float32) []float32 {
	l.e.run(phase{
		begin: l.u.bn.begin,
		group: func(g span, _ int) { l.u.convolve(g, l.planes(g)) },
	})
	l.u.bn.settle()
	l.e.carry(phase{group: func(g span, _ int) { l.u.activate(g, g.rows(l.out, 64*l.u.conv.co)) }}, nil)
	return l.out
}

// backward sets the gradients of the parameters; the input has none. dy is
// overwritten and returned.
func (l *inputLayer) backward(_, y, dy []float32) []float32 {
	w := 64 * l.u.conv.co
	l.e.open(l.wg)
	l.e.run(phase{
		begin: l.u.bn.begin,
		group: func(g span, _ int) {
			d := g.rows(dy, w)
			l.u.deactivate(g, d, d, g.rows(y, w))
		},
	})
	l.u.bn.settleBackward()
	l.e.run(phase{
		begin: l.wg.reset,
		group: func(g span, at int) {
			l.u.conv.weightGrad(g, at, l.wg, l.planes(g), l.u.unnormalise(g, g.rows(dy, w)))
		},
		end: func(s span) { l.u.conv.finishWeightGrad(s, l.wg) },
	})
	l.wg.reduce()
	l.e.finish()
	return dy
}

// blockLayer is a residual block: out = act(SE(bn(conv(act(bn(conv x))))) + x).
type blockLayer struct {
	e           *engine
	label       string
	first, last *unit
	se          *squeeze // nil without squeeze-and-excitation
	out         []float32
	wg          *weightGrads
}

func newBlockLayer(e *engine, i int) *blockLayer {
	label := fmt.Sprintf("tower.%d", i)
	b := &blockLayer{
		e: e, label: label,
		first: newUnit(e, label+".conv1", label+".bn1", e.act, true),
		last:  newUnit(e, label+".conv2", label+".bn2", kernel.None, true),
	}
	weights := []*conv{b.first.conv, b.last.conv}
	if e.param(label+".se.fc1.weight") >= 0 {
		b.se = newSqueeze(e, label+".se")
		weights = append(weights, b.se.fc1, b.se.fc2)
	}
	b.out = make([]float32, e.capacity*64*b.last.conv.co)
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

// forward returns the block's output for x, both [capacity][64][F]; the next phase
// computes it.
func (b *blockLayer) forward(x []float32) []float32 {
	w := 64 * b.last.conv.co
	b.e.run(b.first.inputPass(x))
	b.first.bn.settle()
	b.e.run(phase{
		begin: b.last.bn.begin,
		group: func(g span, _ int) { b.last.convolve(g, b.first.activation(g)) },
	})
	b.last.bn.settle()
	b.e.carry(phase{group: func(g span, _ int) {
		if b.se != nil {
			b.se.measure(g, b.last)
		}
		b.join(g, g.rows(b.out, w), g.rows(x, w), b.e.act)
	}}, nil)
	return b.out
}

// join computes out = act(gate*bn(z) + beta + x), rows of g.
func (b *blockLayer) join(g span, out, x []float32, act kernel.Act) {
	c := b.last.conv.co
	z := b.last.output(g)
	if b.se == nil {
		kernel.BatchNormApply(out, z, b.last.bn.scale, b.last.bn.shift, x, g.n*64, c, act)
		return
	}
	kernel.SEApply(out, z, g.rows(b.se.scale, c), g.rows(b.se.shift, c), x, g.n, c, act)
}

// backward sets the gradients of the parameters and turns dy, that of the output
// y, into that of the input x, which it returns; the next phase completes both.
func (b *blockLayer) backward(x, y, dy []float32) []float32 {
	w := 64 * b.last.conv.co
	d := b.e.gradBuffer(towerBuffer, w) // of bn2's output, then of bn1's
	b.e.open(b.wg)
	dres := dy
	dz := d
	if b.se == nil {
		dz = dres
	}
	b.e.run(phase{
		begin: func(s span) {
			b.wg.reset(s)
			b.last.bn.begin(s)
		},
		group: func(g span, _ int) {
			dz := g.rows(dz, w)
			b.split(g, g.rows(dres, w), dz, g.rows(x, w), g.rows(y, w))
			b.last.deactivate(g, dz, dz, nil)
		},
	})
	b.last.bn.settleBackward()
	b.e.run(phase{
		begin: b.first.bn.begin,
		group: func(g span, at int) {
			dh, h := g.rows(d, w), b.first.activation(g)
			dz := b.last.unnormalise(g, g.rows(dz, w))
			b.last.conv.weightGrad(g, at, b.wg, h, dz)
			b.last.conv.inputGrad(g, dh, dz)
			b.first.deactivate(g, dh, dh, h)
		},
		end: func(s span) { b.last.conv.finishWeightGrad(s, b.wg) },
	})
	b.first.bn.settleBackward()
	b.e.carry(phase{
		group: func(g span, at int) {
			dz, dres := b.first.unnormalise(g, g.rows(d, w)), g.rows(dres, w)
			part := b.e.workerScratch(g, actBuffer, len(dres))
			b.first.conv.weightGrad(g, at, b.wg, g.rows(x, w), dz)
			b.first.conv.inputGrad(g, part, dz)
			kernel.Add(dres, dres, part)
		},
		end: func(s span) { b.first.conv.finishWeightGrad(s, b.wg) },
	}, b.wg)
	return dy
}

// split takes d, the gradient of the output y, back through the last activation,
// rows of g: d becomes the gradient of the residual connection; dz takes that of
// the batch norm's output, which without squeeze-and-excitation is the same.
func (b *blockLayer) split(g span, d, dz, x, y []float32) {
	act := b.e.act
	if act == kernel.Mish {
		pre := b.e.workerScratch(g, preBuffer, len(d))
		b.join(g, pre, x, kernel.None)
		kernel.MishBackward(d, d, pre)
		act = kernel.None
	}
	if b.se != nil {
		b.se.backward(g, b.wg, dz, d, y, b.last, act)
	} else if act == kernel.ReLU {
		kernel.ReLUBackward(d, d, y)
	}
}
