package cuda

import (
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
	"github.com/chessbrain/chessbrain/nn/device"
)

// head is an output of the net with its losses. backward adds its part to t.grad,
// the gradient of the tower's output, or sets it where add is false.
type head interface {
	forward(q *queue, boards int, x driver.Ptr)
	backward(q *queue, boards int, x driver.Ptr, add bool)
}

// flattened is a unit whose activations, written out, go through a fully connected
// layer: themselves, or where the head is pooled their means over the squares.
type flattened struct {
	u             *unit
	h             driver.Ptr // T [capacity*64][padded]
	mean          *conv      // nil: not pooled
	means, dMeans driver.Ptr // T [capacity][padded]: mean's output and its gradient
	fc            *conv
	grad          driver.Ptr // T, of h
}

func newFlattened(t *Trainer, convName, bnName, fc string, pooled bool) *flattened {
	f := &flattened{u: newUnit(t, convName, bnName, true)}
	f.h, f.grad = t.activations(f.u.conv.outPad), t.activations(f.u.conv.outPad)
	inputs := f.u.conv.co
	if pooled {
		f.mean, inputs = newMean(t, f.u.conv.outPad), 0
		size := t.cfg.Capacity * f.u.conv.outPad * t.typ.Size()
		f.means, f.dMeans = t.mem.alloc(size), t.mem.alloc(size)
	}
	f.fc = newConv(t, fc, inputs, true)
	return f
}

// newMean is the mean of each of padded channels over the squares, as a fully connected
// layer from [64][padded] with weights that nothing trains: 1/64, which all types hold
// exactly, from a channel to itself. It needs no kernel of its own. With 32 channels the
// product is a quarter of a flattened head's first layer; it grows with their square.
func newMean(t *Trainer, padded int) *conv {
	in := 64 * padded
	forward, backward := make([]float32, padded*in), make([]float32, in*padded)
	for i := range in {
		c := i % padded
		forward[c*in+i], backward[i*padded+c] = 1.0/64, 1.0/64
	}
	return &conv{
		t: t, taps: 1, ci: in, co: padded, weight: -1, bias: -1, inPad: in, outPad: padded, rowsPerBoard: 1,
		forward: t.constant(stored(t.typ, forward)), backward: t.constant(stored(t.typ, backward)),
	}
}

// input is what the fully connected layer reads.
func (f *flattened) input() input {
	if f.mean != nil {
		return input{x: f.means}
	}
	return input{x: f.h}
}

func (f *flattened) forward(q *queue, boards int, x driver.Ptr, out kernels.ConvArgs) {
	f.u.forward(q, boards, input{x: x})
	q.do(kernels.Join(q.t.typ, f.u.join(boards, f.h)))
	if f.mean != nil {
		f.mean.run(q, boards, input{x: f.h}, kernels.ConvArgs{Y: f.means})
	}
	f.fc.run(q, boards, f.input(), out)
}

// backward takes dz, the gradient of the fully connected layer's output.
func (f *flattened) backward(q *queue, boards int, x, dz driver.Ptr, add bool) {
	f.fc.weightGrad(q, boards, f.input(), dz)
	if f.mean != nil {
		f.fc.inputGrad(q, boards, dz, kernels.ConvArgs{Y: f.dMeans})
		f.mean.inputGrad(q, boards, f.dMeans, kernels.ConvArgs{Y: f.grad})
	} else {
		f.fc.inputGrad(q, boards, dz, kernels.ConvArgs{Y: f.grad})
	}
	f.u.joinBackward(q, boards, f.grad)
	f.u.toTower(q, boards, x, f.grad, add)
}

// toTower ends a head's backward pass: from d, the gradient of batch norm's output
// with its sums in t.sums, to the weights and the tower.
func (u *unit) toTower(q *queue, boards int, x, d driver.Ptr, add bool) {
	t := u.conv.t
	u.bn.backward(q, boards, d, d, u.z, t.sums, 0, 0)
	u.conv.weightGrad(q, boards, input{x: x}, d)
	a := kernels.ConvArgs{Y: t.grad}
	if add {
		a.Add = t.grad
	}
	u.conv.inputGrad(q, boards, d, a)
}

// policyLoss is the loss of a policy head.
type policyLoss struct {
	t       *Trainer
	width   int        // logits a board
	place   driver.Ptr // uint16 [1858]: where in them a policy index lies
	logits  driver.Ptr // fp32 [capacity][width]
	dlogits driver.Ptr // T
	weight  float32
}

func newPolicyLoss(t *Trainer, term *device.Term, width int, places []uint16) policyLoss {
	return policyLoss{
		t: t, width: width, place: t.constant(bytesOf(places)), weight: float32(term.Weight),
		logits: t.mem.floats(t.cfg.Capacity * width), dlogits: t.mem.alloc(t.cfg.Capacity * width * t.typ.Size()),
	}
}

// lose takes the logits to the losses and, in a backward pass, to their gradient.
func (l *policyLoss) lose(q *queue, boards int) {
	a := kernels.PolicyLossArgs{
		Logits: l.logits, Place: l.place, Start: q.slot.part(partStart), Legal: q.slot.legal, Target: q.slot.policy, Weight: q.slot.part(partWeight),
		Loss: q.slot.losses[device.Policy], Entropy: q.slot.resultsThere,
		Rows: int32(boards), Width: int32(l.width), Scale: l.weight * q.pass.LossScale / float32(boards),
	}
	if q.pass.Backward {
		a.Dlogits = l.dlogits
	}
	q.do(kernels.PolicyLoss(l.t.typ, a))
}

// policyHead is the convolutional head (last) or the classical one (flat).
type policyHead struct {
	policyLoss
	u    *unit
	last *conv
	flat *flattened
	dz   driver.Ptr // T [capacity*64][padded], of the unit
}

func newPolicyHead(t *Trainer, of *nn.Head, term *device.Term) *policyHead {
	h := &policyHead{}
	width := 0
	if of.Kind == nn.PolicyClassical {
		h.flat = newFlattened(t, "policy.conv1", "policy.bn", "policy.fc", false)
		width = h.flat.fc.outPad
	} else {
		h.u = newUnit(t, "policy.conv1", "policy.bn", true)
		h.last = newConv(t, "policy.conv2", 0, true)
		width = 64 * h.last.outPad
		h.dz = t.activations(h.u.conv.outPad)
	}
	h.policyLoss = newPolicyLoss(t, term, width, policyPlaces(of.Kind))
	return h
}

func (h *policyHead) forward(q *queue, boards int, x driver.Ptr) {
	if h.flat != nil {
		h.flat.forward(q, boards, x, kernels.ConvArgs{Y32: h.logits})
	} else {
		h.u.forward(q, boards, input{x: x})
		h.last.run(q, boards, h.u.output(), kernels.ConvArgs{Y32: h.logits})
	}
	h.lose(q, boards)
}

func (h *policyHead) backward(q *queue, boards int, x driver.Ptr, add bool) {
	if h.flat != nil {
		h.flat.backward(q, boards, x, h.dlogits, add)
		return
	}
	h.last.weightGrad(q, boards, h.u.output(), h.dlogits)
	h.last.inputGrad(q, boards, h.dlogits, h.u.slope(h.dz, h.t.sums))
	h.u.toTower(q, boards, x, h.dz, add)
}

// scalarHead is the value or the moves-left head.
type scalarHead struct {
	t       *Trainer
	flat    *flattened
	fc2     *conv
	pre     driver.Ptr // T [capacity][hidden padded]: before the activation
	dpre    driver.Ptr
	logits  driver.Ptr // fp32 [capacity][16]
	dlogits driver.Ptr // T
	which   device.Head
	formula int32 // kernels.ScalarLossArgs.Head
	terms   []*device.Term
}

func newScalarHead(t *Trainer, of *nn.Head, which device.Head, terms []*device.Term) *scalarHead {
	name := of.Output
	h := &scalarHead{t: t, which: which, terms: terms, formula: kernels.LossWDL, flat: newFlattened(t, name+".conv", name+".bn", name+".fc1", of.Kind == nn.HeadPooled), fc2: newConv(t, name+".fc2", 0, true)}
	switch {
	case which == device.MovesLeft:
		h.formula = kernels.LossMovesLeft
	case of.Form == nn.ValueScalar:
		h.formula = kernels.LossValue
	}
	n := t.cfg.Capacity
	h.pre, h.dpre = t.mem.alloc(n*h.fc2.inPad*t.typ.Size()), t.mem.alloc(n*h.fc2.inPad*t.typ.Size())
	h.logits, h.dlogits = t.mem.floats(n*h.fc2.outPad), t.mem.alloc(n*h.fc2.outPad*t.typ.Size())
	return h
}

// hidden is the second layer's input.
func (h *scalarHead) hidden() input { return input{x: h.pre, act: h.t.act} }

func (h *scalarHead) forward(q *queue, boards int, x driver.Ptr) {
	h.flat.forward(q, boards, x, kernels.ConvArgs{Y: h.pre})
	h.fc2.run(q, boards, h.hidden(), kernels.ConvArgs{Y32: h.logits})
	a := kernels.ScalarLossArgs{
		Logits: h.logits, Targets: q.slot.part(partTargets), Weight: q.slot.part(partWeight), Loss: q.slot.losses[h.which],
		Rows: int32(boards), Width: int32(h.fc2.outPad), Terms: int32(len(h.terms)), Head: h.formula,
	}
	for i, t := range h.terms {
		a.Term[i] = kernels.ScalarTerm{Target: int32(t.Target), Other: int32(t.Other), Ratio: t.Ratio, Scale: float32(t.Weight) * q.pass.LossScale / float32(boards)}
	}
	if q.pass.Backward {
		a.Dlogits = h.dlogits
	}
	q.do(kernels.ScalarLoss(h.t.typ, a))
}

func (h *scalarHead) backward(q *queue, boards int, x driver.Ptr, add bool) {
	h.fc2.weightGrad(q, boards, h.hidden(), h.dlogits)
	h.fc2.inputGrad(q, boards, h.dlogits, kernels.ConvArgs{Y: h.dpre, Z: h.pre, ZAct: h.t.act})
	h.flat.backward(q, boards, x, h.dpre, add)
}
