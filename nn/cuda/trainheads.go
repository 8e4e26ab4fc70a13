package cuda

import (
	"fmt"
	"slices"

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

// A headTerm is one loss of a head; index is its place in the configuration.
type headTerm struct {
	*device.Term
	index int
}

// scale is the factor of a row's gradient.
func (t headTerm) scale(q *queue) float32 {
	return float32(t.Weight) * q.pass.LossScale / float32(q.slot.boards)
}

// learns is what a row should learn.
func (t headTerm) learns() kernels.Target {
	return kernels.Target{Target: int32(t.Target), Other: int32(t.Other), Ratio: t.Ratio}
}

// plain says whether a policy's term is the cross entropy alone.
func (t headTerm) plain() bool { return t.Temperature == 0 && !t.Optimistic }

// buildHeads makes the heads that have losses.
func (t *Trainer) buildHeads() error {
	byHead := map[string][]headTerm{}
	for i := range t.cfg.Terms {
		term := headTerm{&t.cfg.Terms[i], i}
		byHead[term.Prefix()] = append(byHead[term.Prefix()], term)
	}
	for i := range t.cfg.Arch.Heads {
		h := &t.cfg.Arch.Heads[i]
		terms := byHead[h.Prefix()]
		switch {
		case len(terms) == 0:
		case len(terms) > kernels.MaxTerms:
			return fmt.Errorf("more than %d losses of one head", kernels.MaxTerms)
		case h.Attends():
			t.heads = append(t.heads, newAttentionHead(t, h, terms))
		case h.Output == nn.Policy:
			t.heads = append(t.heads, newPolicyHead(t, h, terms))
		default:
			scalar := newScalarHead(t, h, terms)
			if t.heads = append(t.heads, scalar); h.Output == nn.Auxiliary {
				t.auxiliary = scalar
			}
		}
	}
	return nil
}

// policyLoss is the losses of a policy head.
type policyLoss struct {
	t       *Trainer
	of      *nn.Head
	terms   []headTerm
	width   int        // logits a board
	place   driver.Ptr // uint16 [1858]: where in them a policy index lies
	logits  driver.Ptr // fp32 [capacity][width]
	dlogits driver.Ptr // T
	unasked driver.Ptr // losses that nobody asked for, of a main head without the cross entropy: entropies are taken with it
}

func newPolicyLoss(t *Trainer, of *nn.Head, terms []headTerm, width int, places []uint16) policyLoss {
	l := policyLoss{
		t: t, of: of, terms: terms, width: width, place: t.constant(bytesOf(places)),
		logits: t.mem.floats(t.cfg.Capacity * width), dlogits: t.mem.alloc(t.cfg.Capacity * width * t.typ.Size()),
	}
	if of.Name == "" && !slices.ContainsFunc(terms, headTerm.plain) {
		l.unasked = t.mem.floats(2 * t.cfg.Capacity)
	}
	return l
}

// lose takes the logits to the losses and, in a backward pass, to their gradient.
func (l *policyLoss) lose(q *queue) {
	s, add := q.slot, int32(0)
	a := kernels.PolicyLossArgs{
		Logits: l.logits, Place: l.place, Start: s.part(partStart), Legal: s.legal, Target: s.policy, Weight: s.part(partWeight), Targets: s.part(partTargets),
		Rows: int32(s.boards), Width: int32(l.width), AuxWidth: auxWidth,
	}
	if l.unasked != 0 {
		a.Loss, a.Entropy = l.unasked, s.resultsThere
		q.do(kernels.PolicyLoss(l.t.typ, a))
	}
	for _, t := range l.terms {
		a := a
		a.Loss, a.Entropy, a.Scale, a.Temperature, a.Strength, a.Learns, a.Add = s.losses(t.index), 0, t.scale(q), float32(t.Temperature), float32(t.Strength), t.learns(), add
		switch {
		case t.plain() && l.of.Name == "":
			a.Entropy = s.resultsThere
		case t.Optimistic:
			a.Auxiliary, a.Temperature = l.t.auxiliary.logits, max(a.Temperature, 1)
		case l.of.Name == nn.Opponent:
			a.Ahead = s.part(partAhead)
		}
		if q.pass.Backward {
			a.Dlogits, add = l.dlogits, 1
		}
		q.do(kernels.PolicyLoss(l.t.typ, a))
	}
}

// policyHead is the convolutional head (last) or the classical one (flat).
type policyHead struct {
	policyLoss
	u    *unit
	last *conv
	flat *flattened
	dz   driver.Ptr // T [capacity*64][padded], of the unit
}

func newPolicyHead(t *Trainer, of *nn.Head, terms []headTerm) *policyHead {
	h, name := &policyHead{}, of.Prefix()
	width := 0
	if of.Kind == nn.PolicyClassical {
		h.flat = newFlattened(t, name+".conv1", name+".bn", name+".fc", false)
		width = h.flat.fc.outPad
	} else {
		h.u = newUnit(t, name+".conv1", name+".bn", true)
		h.last = newConv(t, name+".conv2", 0, true)
		width = 64 * h.last.outPad
		h.dz = t.activations(h.u.conv.outPad)
	}
	h.policyLoss = newPolicyLoss(t, of, terms, width, policyPlaces(of.Kind))
	return h
}

func (h *policyHead) forward(q *queue, boards int, x driver.Ptr) {
	if h.flat != nil {
		h.flat.forward(q, boards, x, kernels.ConvArgs{Y32: h.logits})
	} else {
		h.u.forward(q, boards, input{x: x})
		h.last.run(q, boards, h.u.output(), kernels.ConvArgs{Y32: h.logits})
	}
	h.lose(q)
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

// auxWidth is the padded outputs of an auxiliary head.
var auxWidth = int32(kernels.Pad(nn.NumAuxiliary))

// scalarHead is the value, the moves-left or the auxiliary head.
type scalarHead struct {
	t         *Trainer
	flat      *flattened
	pre, dpre driver.Ptr // T [capacity][hidden padded]: before the activation
	outputs              // of the second layer
	auxiliary bool
	forecasts []*outputs // of layers beside it
}

// outputs are those of a layer that reads the hidden one, with their losses.
type outputs struct {
	layer   *conv
	logits  driver.Ptr // fp32 [capacity][padded]
	dlogits driver.Ptr // T
	formula int32      // kernels.ScalarLossArgs.Head
	terms   []headTerm
}

func newOutputs(t *Trainer, name string, formula int32, terms []headTerm) outputs {
	o := outputs{layer: newConv(t, name, 0, true), formula: formula, terms: terms}
	n := t.cfg.Capacity * o.layer.outPad
	o.logits, o.dlogits = t.mem.floats(n), t.mem.alloc(n*t.typ.Size())
	return o
}

func newScalarHead(t *Trainer, of *nn.Head, terms []headTerm) *scalarHead {
	name, formula := of.Prefix(), int32(kernels.LossWDL)
	switch {
	case of.Output == nn.MovesLeft:
		formula = kernels.LossMovesLeft
	case of.Form == nn.ValueScalar:
		formula = kernels.LossValue
	}
	h := &scalarHead{t: t, auxiliary: of.Output == nn.Auxiliary, flat: newFlattened(t, name+".conv", name+".bn", name+".fc1", of.Kind == nn.HeadPooled)}
	var own, errors, categories []headTerm
	for _, term := range terms {
		switch {
		case term.Errors:
			errors = append(errors, term)
		case term.Categorical:
			categories = append(categories, term)
		default:
			own = append(own, term)
		}
	}
	h.outputs = newOutputs(t, name+".fc2", formula, own)
	forecast := func(layer string, formula int32, terms []headTerm) {
		if len(terms) > 0 {
			o := newOutputs(t, name+layer, formula, terms)
			h.forecasts = append(h.forecasts, &o)
		}
	}
	forecast(".error", kernels.LossError, errors)
	forecast(".categories", kernels.LossCategory, categories)
	size := t.cfg.Capacity * h.layer.inPad * t.typ.Size()
	h.pre, h.dpre = t.mem.alloc(size), t.mem.alloc(size)
	return h
}

// hidden is the second layer's input.
func (h *scalarHead) hidden() input { return input{x: h.pre, act: h.t.act} }

func (h *scalarHead) forward(q *queue, boards int, x driver.Ptr) {
	h.flat.forward(q, boards, x, kernels.ConvArgs{Y: h.pre})
	h.layer.run(q, boards, h.hidden(), kernels.ConvArgs{Y32: h.logits})
	if h.auxiliary {
		h.loseAuxiliary(q)
	} else {
		h.lose(q, &h.outputs)
	}
	for _, f := range h.forecasts {
		f.layer.run(q, boards, h.hidden(), kernels.ConvArgs{Y32: f.logits})
		h.lose(q, f)
	}
}

// lose takes outputs to their losses and, in a backward pass, to their gradient.
func (h *scalarHead) lose(q *queue, o *outputs) {
	s := q.slot
	a := kernels.ScalarLossArgs{
		Logits: o.logits, Value: h.logits, Targets: s.part(partTargets), Weight: s.part(partWeight),
		Rows: int32(s.boards), Width: int32(o.layer.outPad), Terms: int32(len(o.terms)), Head: o.formula, Outputs: int32(h.layer.co),
	}
	if o.formula == kernels.LossCategory {
		a.Outputs = int32(o.layer.co)
	}
	for i, t := range o.terms {
		a.Term[i] = kernels.ScalarTerm{Loss: s.losses(t.index), Learns: t.learns(), Scale: t.scale(q)}
	}
	if q.pass.Backward {
		a.Dlogits = o.dlogits
	}
	q.do(kernels.ScalarLoss(h.t.typ, a))
}

// loseAuxiliary is lose of the auxiliary head.
func (h *scalarHead) loseAuxiliary(q *queue) {
	s := q.slot
	a := kernels.AuxLossArgs{
		Logits: h.logits, Targets: s.part(partTargets), Weight: s.part(partWeight), Ahead: s.part(partAhead), Masks: s.part(partMasks),
		Rows: int32(s.boards), Terms: int32(len(h.terms)),
	}
	for i, t := range h.terms {
		a.Term[i] = kernels.AuxTerm{Loss: s.losses(t.index), Learns: t.learns(), Kind: int32(t.Head - device.Survival), Scale: t.scale(q)}
	}
	if q.pass.Backward {
		a.Dlogits = h.dlogits
	}
	q.do(kernels.AuxLoss(h.t.typ, a))
}

func (h *scalarHead) backward(q *queue, boards int, x driver.Ptr, add bool) {
	a := kernels.ConvArgs{Y: h.dpre}
	for _, f := range h.forecasts {
		f.layer.weightGrad(q, boards, h.hidden(), f.dlogits)
		f.layer.inputGrad(q, boards, f.dlogits, a)
		a.Add = h.dpre
	}
	a.Z, a.ZAct = h.pre, h.t.act
	h.layer.weightGrad(q, boards, h.hidden(), h.dlogits)
	h.layer.inputGrad(q, boards, h.dlogits, a)
	h.flat.backward(q, boards, x, h.dpre, add)
}
