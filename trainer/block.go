package trainer

import (
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// inputLayer expands the bit masks and runs the first convolution, batch norm
// and activation.
type inputLayer struct {
	e      *engine
	u      *unit
	planes []float32 // [capacity][64][112]
	wg     *weightGrads
}

func newInputLayer(e *engine) *inputLayer {
	l := &inputLayer{e: e, u: newUnit(e, "input.conv", "input.bn", e.act, false)}
	l.planes = make([]float32, e.capacity*64*encoding.NumPlanes)
	l.wg = newWeightGrads(e, l.u.conv.weight)
	return l
}

func (l *inputLayer) name() string  { return "input" }
func (l *inputLayer) params() []int { return l.u.params() }

// forward returns the activations [capacity][64][F] of the engine's batch.
func (l *inputLayer) forward([]float32) []float32 {
	e, b := l.e, l.e.batch
	l.u.conv.pack()
	e.eachSlice(func(s span) {
		kernel.ExpandInput(s.rows(l.planes, 64*encoding.NumPlanes), b.Masks[s.lo:], b.Scalars[s.lo:], s.n)
		l.u.convolve(s, l.planes)
	})
	l.u.bn.settle()
	e.eachSlice(l.u.activate)
	return l.u.h
}

// backward sets the gradients of the parameters; the input has none.
func (l *inputLayer) backward(_, _, dy []float32) []float32 {
	width := 64 * l.u.conv.co
	d := l.e.gradBuffer(0, width)
	l.e.eachSlice(func(s span) {
		l.wg.reset(s)
		copy(s.rows(d, width), s.rows(dy, width))
		l.u.deactivate(s, d)
	})
	l.u.bn.settleBackward()
	l.e.eachSlice(func(s span) { l.u.unconvolve(s, l.wg, l.planes, d) })
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
	b.first.conv.pack()
	b.last.conv.pack()
	if b.se != nil {
		b.se.pack()
	}
	b.e.eachSlice(func(s span) { b.first.convolve(s, x) })
	b.first.bn.settle()
	b.e.eachSlice(func(s span) {
		b.first.activate(s)
		b.last.convolve(s, b.first.h)
	})
	b.last.bn.settle()
	b.e.eachSlice(func(s span) {
		if b.se != nil {
			b.se.measure(s, b.last)
		}
		b.join(s, b.out, x, b.e.act)
	})
	return b.out
}

// join computes out = act(gate*bn(z) + beta + x) of a slice.
func (b *blockLayer) join(s span, out, x []float32, act kernel.Act) {
	c := b.last.conv.co
	w := 64 * c
	out, x, z := s.rows(out, w), s.rows(x, w), s.rows(b.last.z, w)
	if b.se == nil {
		kernel.BatchNormApplyResidual(out, z, b.last.bn.scale, b.last.bn.shift, x, s.n*64, c, act)
		return
	}
	kernel.SEApply(out, z, s.rows(b.se.scale, c), s.rows(b.se.shift, c), x, s.n, c, act)
}

// backward sets the gradients of the parameters and returns that of x. x and y
// are the forward pass's input and output, dy the output's gradient.
func (b *blockLayer) backward(x, y, dy []float32) []float32 {
	width := 64 * b.last.conv.co
	dres, dz, dh := b.e.gradBuffer(0, width), b.e.gradBuffer(1, width), b.e.gradBuffer(2, width)
	b.e.eachSlice(func(s span) {
		b.wg.reset(s)
		b.split(s, dres, dz, x, y, dy)
		b.last.deactivate(s, dz)
	})
	b.last.bn.settleBackward()
	b.e.eachSlice(func(s span) {
		b.last.unconvolve(s, b.wg, b.first.h, dz)
		b.last.conv.inputGrad(s, dh, dz)
		b.first.deactivate(s, dh)
	})
	b.first.bn.settleBackward()
	b.e.eachSlice(func(s span) {
		b.first.unconvolve(s, b.wg, x, dh)
		b.first.conv.inputGrad(s, b.dx, dh)
		kernel.Add(s.rows(b.dx, width), s.rows(b.dx, width), s.rows(dres, width))
	})
	b.wg.reduce()
	return b.dx
}

// split takes dy of a slice back through the last activation: dres is the
// gradient of the residual connection, dz that of the batch norm's output.
func (b *blockLayer) split(s span, dres, dz, x, y, dy []float32) {
	c := b.last.conv.co
	w := 64 * c
	copy(s.rows(dres, w), s.rows(dy, w))
	mask := s.rows(y, w)
	if b.e.act == kernel.Mish {
		pre := b.e.workerScratch(s, s.n*w)
		b.joinInto(s, pre, x)
		kernel.MishBackward(s.rows(dres, w), s.rows(dres, w), pre)
	} else {
		kernel.ReLUBackward(s.rows(dres, w), s.rows(dres, w), mask)
	}
	if b.se == nil {
		copy(s.rows(dz, w), s.rows(dres, w))
		return
	}
	b.se.backward(s, b.wg, dz, dres, b.last)
}

// joinInto is join without activation into a buffer of the slice alone.
func (b *blockLayer) joinInto(s span, pre, x []float32) {
	c := b.last.conv.co
	w := 64 * c
	if b.se == nil {
		kernel.BatchNormApplyResidual(pre, s.rows(b.last.z, w), b.last.bn.scale, b.last.bn.shift, s.rows(x, w), s.n*64, c, kernel.None)
		return
	}
	kernel.SEApply(pre, s.rows(b.last.z, w), s.rows(b.se.scale, c), s.rows(b.se.shift, c), s.rows(x, w), s.n, c, kernel.None)
}
