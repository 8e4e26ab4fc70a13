package cuda

import (
	"fmt"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// towerBody is the body of a tower: a unit, then residual blocks.
type towerBody struct {
	t       *Trainer
	input   *unit
	trunk   driver.Ptr // the input layer's activations
	blocks  []*block
	small   []kernels.OuterLayer // the fully connected layers of the blocks
	smallAt driver.Ptr
}

func newTowerBody(t *Trainer) *towerBody {
	b := &towerBody{t: t, input: newUnit(t, "input.conv", "input.bn", false)}
	b.trunk = t.activations(b.input.conv.outPad)
	for i := range len(t.cfg.Arch.Blocks) - 1 {
		b.blocks = append(b.blocks, newBlock(t, i))
		if se := b.blocks[i].se; se != nil {
			b.small = append(b.small, se.layers()...)
		}
	}
	if len(b.small) > 0 {
		b.smallAt = t.constant(bytesOf(b.small))
	}
	t.inner, t.outer = t.activations(b.input.conv.outPad), t.activations(b.input.conv.outPad)
	n := t.cfg.Capacity * b.input.conv.outPad
	t.dynSums, t.dynScale, t.dynShift = t.mem.floats(2*n), t.mem.floats(n), t.mem.floats(n)
	return b
}

func (b *towerBody) forward(q *queue, boards int) driver.Ptr {
	b.input.forward(q, boards, input{x: b.t.planes})
	q.do(kernels.Join(b.t.typ, b.input.join(boards, b.trunk)))
	x := b.trunk
	for _, block := range b.blocks {
		x = block.forward(q, boards, x)
	}
	return x
}

func (b *towerBody) backward(q *queue, boards int) {
	t := b.t
	for i := len(b.blocks) - 1; i >= 0; i-- {
		below := b.trunk
		if i > 0 {
			below = b.blocks[i-1].out
		}
		b.blocks[i].backward(q, boards, below)
	}
	if len(b.small) > 0 {
		q.do(kernels.Outer(kernels.OuterArgs{Layers: b.smallAt, Boards: int32(boards), Accumulate: q.accumulate}, b.small))
	}
	u := b.input
	u.joinBackward(q, boards, t.grad)
	u.bn.backward(q, boards, t.grad, t.grad, u.z, t.sums, 0, 0)
	u.conv.weightGrad(q, boards, input{x: t.planes}, t.grad)
}

// block is a residual block: out = act(SE(bn(conv(act(bn(conv x))))) + x).
type block struct {
	first, last *unit
	se          *squeeze   // nil without squeeze-and-excitation
	out         driver.Ptr // T [capacity*64][padded]
}

func newBlock(t *Trainer, i int) *block {
	name := fmt.Sprintf("tower.%d", i)
	b := &block{first: newUnit(t, name+".conv1", name+".bn1", true), last: newUnit(t, name+".conv2", name+".bn2", true)}
	if t.cfg.Arch.SEUnits() > 0 {
		b.se = newSqueeze(t, name+".se", b.last)
	}
	b.out = t.activations(b.last.conv.outPad)
	return b
}

func (b *block) forward(q *queue, boards int, x driver.Ptr) driver.Ptr {
	b.first.forward(q, boards, input{x: x})
	b.last.forward(q, boards, b.first.output())
	if b.se != nil {
		b.se.forward(q, boards)
	}
	a := b.last.join(boards, b.out)
	a.X = x
	a.Scale, a.Shift, a.ByBoard = b.affine()
	q.do(kernels.Join(q.t.typ, a))
	return b.out
}

// affine is what turns z of the last convolution into what is added to x.
func (b *block) affine() (scale, shift driver.Ptr, byBoard int32) {
	if b.se != nil {
		return b.se.scale, b.se.shift, 1
	}
	return b.last.bn.scale, b.last.bn.shift, 0
}

// backward turns t.grad, the gradient of the output, into that of the input x.
func (b *block) backward(q *queue, boards int, x driver.Ptr) {
	t := b.first.conv.t
	a := kernels.JoinBackwardArgs{Dy: t.grad, Z: b.last.z, X: x, D: t.grad, Sums: t.sums, Boards: int32(boards), Padded: int32(b.last.conv.outPad), Act: t.act}
	a.Scale, a.Shift, a.ByBoard = b.affine()
	q.do(kernels.JoinBackward(t.typ, a))
	sums, dynScale, dynShift := t.sums, driver.Ptr(0), driver.Ptr(0)
	if b.se != nil {
		b.se.backward(q, boards)
		sums, dynScale, dynShift = t.dynSums, t.dynScale, t.dynShift
	}
	b.last.bn.backward(q, boards, t.inner, t.grad, b.last.z, sums, dynScale, dynShift)
	b.last.conv.weightGrad(q, boards, b.first.output(), t.inner)
	b.last.conv.inputGrad(q, boards, t.inner, b.first.slope(t.outer, t.sums))
	b.first.bn.backward(q, boards, t.inner, t.outer, b.first.z, t.sums, 0, 0)
	b.first.conv.weightGrad(q, boards, input{x: x}, t.inner)
	b.first.conv.inputGrad(q, boards, t.inner, kernels.ConvArgs{Y: t.grad, Add: t.grad})
}

// squeeze is squeeze-and-excitation, all in fp32.
type squeeze struct {
	t                             *Trainer
	u                             *unit // whose output it scales
	w1, b1, w2, b2                int   // parameters
	units                         int
	pool, pre, gate, scale, shift driver.Ptr // by board
	df, dhid                      driver.Ptr // gradients of the layers' outputs, by board
}

func newSqueeze(t *Trainer, name string, u *unit) *squeeze {
	l := t.layout
	s := &squeeze{t: t, u: u, w1: l.param(name + ".fc1.weight"), b1: l.param(name + ".fc1.bias"), w2: l.param(name + ".fc2.weight"), b2: l.param(name + ".fc2.bias")}
	s.units = l.specs[s.b1].Len()
	n := t.cfg.Capacity * u.bn.padded
	s.pool, s.gate, s.scale, s.shift = t.mem.floats(n), t.mem.floats(n), t.mem.floats(n), t.mem.floats(n)
	s.pre, s.dhid = t.mem.floats(t.cfg.Capacity*s.units), t.mem.floats(t.cfg.Capacity*s.units)
	s.df = t.mem.floats(t.cfg.Capacity * 2 * u.bn.channels)
	return s
}

func (s *squeeze) forward(q *queue, boards int) {
	t, l, bn := s.t, s.t.layout, s.u.bn
	q.do(kernels.SEForward(kernels.SEForwardArgs{
		Sums: s.u.sums, Scale: bn.scale, Shift: bn.shift,
		W1: l.in(t.params, s.w1), B1: l.in(t.params, s.b1), W2: l.in(t.params, s.w2), B2: l.in(t.params, s.b2),
		Pool: s.pool, Pre: s.pre, Gate: s.gate, BoardScale: s.scale, BoardShift: s.shift,
		Boards: int32(boards), Channels: int32(bn.channels), Padded: int32(bn.padded), Units: int32(s.units), Act: t.act,
	}))
}

// backward reads t.sums, those of the gradient behind it, and sets the gradients of
// the small layers' outputs, and t.dynSums, t.dynScale and t.dynShift for batch norm.
func (s *squeeze) backward(q *queue, boards int) {
	t, l, bn := s.t, s.t.layout, s.u.bn
	q.do(kernels.SEBackward(kernels.SEBackwardArgs{
		Sums: t.sums, Zsums: s.u.sums, Scale: bn.scale, Shift: bn.shift, Gate: s.gate, Pre: s.pre,
		W1: l.in(t.params, s.w1), W2: l.in(t.params, s.w2), Df: s.df, Dhid: s.dhid,
		DynScale: t.dynScale, DynShift: t.dynShift, DynSums: t.dynSums,
		Boards: int32(boards), Channels: int32(bn.channels), Padded: int32(bn.padded), Units: int32(s.units), Act: t.act,
	}))
}

// layers are the two whose weights take their gradients from what backward has set.
func (s *squeeze) layers() []kernels.OuterLayer {
	t, l, bn := s.t, s.t.layout, s.u.bn
	return []kernels.OuterLayer{{
		Dout: s.dhid, In: s.pool, Dw: l.in(t.grads, s.w1), Dbias: l.in(t.grads, s.b1),
		Rows: int32(s.units), Columns: int32(bn.channels), DoutStride: int32(s.units), InStride: int32(bn.padded),
	}, {
		Dout: s.df, In: s.pre, Dw: l.in(t.grads, s.w2), Dbias: l.in(t.grads, s.b2),
		Rows: int32(2 * bn.channels), Columns: int32(s.units), DoutStride: int32(2 * bn.channels), InStride: int32(s.units), Act: t.act,
	}}
}
