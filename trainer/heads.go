package trainer

import (
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// term is one configured loss of a head and what was measured of it.
type term struct {
	Loss
	tallies []tally // by slice
	hits    []tally // by slice: 1 where the likeliest outcome agrees
}

func (t *term) reset(slice int) { t.tallies[slice], t.hits[slice] = tally{}, tally{} }

// head is what the output layers share: the losses, and the objective.
type head struct {
	e     *engine
	terms []*term
}

func newHead(e *engine, losses []Loss) head {
	h := head{e: e}
	n := numSlices(e.capacity)
	for _, l := range losses {
		h.terms = append(h.terms, &term{Loss: l, tallies: make([]tally, n), hits: make([]tally, n)})
	}
	return h
}

// objective is the head's part of the loss that is minimised: over the rows of
// the micro-batch, the mean of Weight*rowWeight*loss, unknown targets as 0.
func (h *head) objective() float64 {
	sum := 0.0
	for _, t := range h.terms {
		for s := range numSlices(h.e.boards) {
			sum += t.Weight * t.tallies[s].wx
		}
	}
	return sum / float64(h.e.boards)
}

// gradScale is the factor of the gradient of term t's loss in row i.
func (h *head) gradScale(t *term, i int) float32 {
	return float32(h.e.lossScale * t.Weight * float64(h.e.batch.Weight[i]) / float64(h.e.boards))
}

// policyHead is a convolution with batch norm, then a convolution with bias to
// 80 planes of which the legal moves' logits are taken (convolutional), or a
// fully connected layer to all 1858 policy indices (classical).
type policyHead struct {
	head
	u             *unit
	conv          *conv  // convolutional
	fc            *dense // classical
	width         int    // outputs a board
	off           *kernel.PolicyOffsets
	y, dy, dx     []float32
	prob          []float32 // beside the batch's Legal: the net's policy
	wg            *weightGrads
	entropy       []tally // by slice
	target, legal []tally
}

func newPolicyHead(e *engine, losses []Loss) *policyHead {
	h := &policyHead{head: newHead(e, losses), u: newUnit(e, policyConv, policyBN, e.act, true)}
	if e.has(policyDense+".weight") && len(e.shape(policyDense+".weight")) == 2 {
		h.fc = newDense(e, policyDense, h.u.conv.co)
		h.width, h.off = h.fc.n, kernel.NewFlatPolicyOffsets()
		h.wg = newWeightGrads(e, append([]int{h.u.conv.weight}, h.fc.params()...)...)
	} else {
		h.conv = newConv(e, policyPlanes, true)
		h.width, h.off = 64*h.conv.co, kernel.NewConvPolicyOffsets(encoding.ConvPolicyIndex())
		h.wg = newWeightGrads(e, append([]int{h.u.conv.weight}, h.conv.params()...)...)
	}
	h.y, h.dy = make([]float32, e.capacity*h.width), make([]float32, e.capacity*h.width)
	h.dx = make([]float32, e.capacity*64*h.u.conv.ci)
	n := numSlices(e.capacity)
	h.entropy, h.target, h.legal = make([]tally, n), make([]tally, n), make([]tally, n)
	return h
}

func (h *policyHead) name() string { return "policy" }

func (h *policyHead) params() []int {
	if h.fc != nil {
		return append(h.u.params(), h.fc.params()...)
	}
	return append(h.u.params(), h.conv.params()...)
}

// forward computes the logits of the legal moves from the tower's output, their
// loss, and the loss's gradient with respect to the outputs.
func (h *policyHead) forward(x []float32) float64 {
	h.u.conv.pack()
	if h.fc != nil {
		h.fc.pack()
	} else {
		h.conv.pack()
	}
	if n := len(h.e.batch.Legal); len(h.prob) < n {
		h.prob = make([]float32, n)
	}
	h.e.eachSlice(func(s span) { h.u.convolve(s, x) })
	h.u.bn.settle()
	h.e.eachSlice(func(s span) {
		h.u.activate(s)
		if h.fc != nil {
			h.fc.forward(s, h.y, h.u.h, kernel.None)
		} else {
			h.conv.forward(s, h.y, h.u.h)
		}
		h.lose(s)
	})
	return h.objective()
}

// lose takes the losses of a slice.
func (h *policyHead) lose(s span) {
	t := h.terms[0]
	t.reset(s.slice)
	h.entropy[s.slice], h.target[s.slice], h.legal[s.slice] = tally{}, tally{}, tally{}
	for i := s.lo; i < s.lo+s.n; i++ {
		var dy []float32
		if h.e.train {
			dy = h.dy[i*h.width:][:h.width]
		}
		r := policyRowLoss(dy, h.prob, h.y[i*h.width:][:h.width], h.off, h.e.batch, i, h.gradScale(t, i))
		if !r.known {
			continue
		}
		w := float64(h.e.batch.Weight[i])
		t.tallies[s.slice].add(r.value, w)
		t.hits[s.slice].add(oneIf(r.hit), w)
		h.entropy[s.slice].add(r.entropy, w)
		h.target[s.slice].add(r.targetEntropy, w)
		h.legal[s.slice].add(r.legalEntropy, w)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// backward sets the gradients of the parameters and returns that of x.
func (h *policyHead) backward(x []float32) []float32 {
	d := h.e.gradBuffer(0, 64*h.u.conv.co)
	h.e.eachSlice(func(s span) {
		h.wg.reset(s)
		if h.fc != nil {
			h.fc.weightGrad(s, h.wg, h.u.h, h.dy)
			h.fc.inputGrad(s, d, h.dy)
		} else {
			h.conv.weightGrad(s, h.wg, h.u.h, h.dy)
			h.conv.inputGrad(s, d, h.dy)
		}
		h.u.deactivate(s, d)
	})
	h.u.bn.settleBackward()
	h.e.eachSlice(func(s span) {
		h.u.unconvolve(s, h.wg, x, d)
		h.u.conv.inputGrad(s, h.dx, d)
	})
	h.wg.reduce()
	if h.fc != nil {
		h.fc.restore()
	}
	return h.dx
}

// scalarHead is a 1x1 convolution with batch norm and two fully connected
// layers to a few numbers a board: the value head (win, draw, loss logits, or
// one value) and the moves-left head (plies).
type scalarHead struct {
	head
	label       string
	u           *unit
	fc1, fc2    *dense
	pre, hidden []float32 // [capacity][fc1.n]
	z, dz       []float32 // [capacity][fc2.n]
	dHidden, dx []float32
	wg          *weightGrads
	loss        rowLossFunc
}

// rowLossFunc holds outputs z of one row against a target and adds scale times
// the gradient to dz.
type rowLossFunc func(dz, z []float32, t encoding.QDM, scale float32) (rowLoss, bool)

func newScalarHead(e *engine, label string, losses []Loss, loss rowLossFunc) *scalarHead {
	h := &scalarHead{head: newHead(e, losses), label: label, loss: loss, u: newUnit(e, label+".conv", label+".bn", e.act, true)}
	h.fc1 = newDense(e, label+".fc1", h.u.conv.co)
	h.fc2 = newDense(e, label+".fc2", 0)
	h.pre, h.hidden = make([]float32, e.capacity*h.fc1.n), make([]float32, e.capacity*h.fc1.n)
	h.dHidden = make([]float32, e.capacity*h.fc1.n)
	h.z, h.dz = make([]float32, e.capacity*h.fc2.n), make([]float32, e.capacity*h.fc2.n)
	h.dx = make([]float32, e.capacity*64*h.u.conv.ci)
	h.wg = newWeightGrads(e, append(append([]int{h.u.conv.weight}, h.fc1.params()...), h.fc2.params()...)...)
	return h
}

func (h *scalarHead) name() string { return h.label }

func (h *scalarHead) params() []int {
	return append(append(h.u.params(), h.fc1.params()...), h.fc2.params()...)
}

// forward computes the outputs from the tower's, their losses, and the losses'
// gradient with respect to the outputs.
func (h *scalarHead) forward(x []float32) float64 {
	h.u.conv.pack()
	h.fc1.pack()
	h.fc2.pack()
	h.e.eachSlice(func(s span) { h.u.convolve(s, x) })
	h.u.bn.settle()
	h.e.eachSlice(func(s span) {
		h.u.activate(s)
		h.fc1.forward(s, h.pre, h.u.h, kernel.None)
		activate(s.rows(h.hidden, h.fc1.n), s.rows(h.pre, h.fc1.n), h.e.act)
		h.fc2.forward(s, h.z, h.hidden, kernel.None)
		h.lose(s)
	})
	return h.objective()
}

// lose takes the losses of a slice.
func (h *scalarHead) lose(s span) {
	clear(s.rows(h.dz, h.fc2.n))
	for _, t := range h.terms {
		t.reset(s.slice)
		for i := s.lo; i < s.lo+s.n; i++ {
			z, dz := h.z[i*h.fc2.n:][:h.fc2.n], h.dz[i*h.fc2.n:][:h.fc2.n]
			r, hit := h.loss(dz, z, t.target(&h.e.batch.Targets[i]), h.gradScale(t, i))
			if r.known {
				w := float64(h.e.batch.Weight[i])
				t.tallies[s.slice].add(r.value, w)
				t.hits[s.slice].add(oneIf(hit), w)
			}
		}
	}
}

// backward sets the gradients of the parameters and returns that of x.
func (h *scalarHead) backward(x []float32) []float32 {
	d := h.e.gradBuffer(0, 64*h.u.conv.co)
	h.e.eachSlice(func(s span) {
		h.wg.reset(s)
		h.fc2.weightGrad(s, h.wg, h.hidden, h.dz)
		h.fc2.inputGrad(s, h.dHidden, h.dz)
		n := h.fc1.n
		deactivate(s.rows(h.dHidden, n), s.rows(h.hidden, n), s.rows(h.pre, n), h.e.act)
		h.fc1.weightGrad(s, h.wg, h.u.h, h.dHidden)
		h.fc1.inputGrad(s, d, h.dHidden)
		h.u.deactivate(s, d)
	})
	h.u.bn.settleBackward()
	h.e.eachSlice(func(s span) {
		h.u.unconvolve(s, h.wg, x, d)
		h.u.conv.inputGrad(s, h.dx, d)
	})
	h.wg.reduce()
	h.fc1.restore()
	return h.dx
}
