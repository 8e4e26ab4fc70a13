package train

import (
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// towerLayer is a layer whose output is the tower's activations.
type towerLayer interface {
	name() string
	params() []int
	forward(x []float32) []float32
	// backward gets the forward pass's input and output and the output's
	// gradient, which it may overwrite, sets the gradients of the parameters and
	// returns that of x. Both passes may leave work to the next phase.
	backward(x, y, dy []float32) []float32
}

// headLayer is a head with its losses.
type headLayer interface {
	params() []int
	grads() *weightGrads
	// forward takes the tower's activations to the losses of each slice, whose sum
	// is the objective.
	forward(x []float32) passes
	objective() float64
	// backward sets the gradients of the parameters but for grads, and sets dx to
	// that of x, or adds it if add.
	backward(x, dx []float32, add bool) passes
}

// heads is all heads as one operation: their losses' sum. They go through their
// phases together. Separate operations would have Gorgonia add up their gradients
// of the tower's activations.
type heads struct {
	e    *engine
	list []headLayer
}

func (h *heads) params() []int {
	var p []int
	for _, l := range h.list {
		p = append(p, l.params()...)
	}
	return p
}

func (h *heads) forward(x []float32) float64 {
	ends := slices.Clone(h.list)
	slices.Reverse(ends) // the auxiliary head first: the policy's losses may ask for it
	h.run(ends, func(l headLayer, _ int) passes { return l.forward(x) })
	sum := 0.0
	for _, l := range h.list {
		sum += l.objective()
	}
	return sum
}

func (h *heads) backward(x []float32) []float32 {
	if len(h.e.towerGrad) < len(x) {
		h.e.towerGrad = make([]float32, len(x))
	}
	if len(h.list) == 0 {
		clear(h.e.towerGrad)
	}
	grads := make([]*weightGrads, len(h.list))
	for i, l := range h.list {
		grads[i] = l.grads()
	}
	h.e.open(grads...)
	h.run(h.list, func(l headLayer, i int) passes { return l.backward(x, h.e.towerGrad, i > 0) })
	for _, g := range grads {
		g.reduce()
	}
	return h.e.towerGrad
}

// run takes heads through the passes of, in this order.
func (h *heads) run(list []headLayer, of func(l headLayer, i int) passes) {
	first, last, all := make([]phase, len(list)), make([]phase, len(list)), make([]passes, len(list))
	for i, l := range list {
		all[i] = of(l, i)
		first[i], last[i] = all[i].first, all[i].last
	}
	h.e.run(together(first))
	for _, p := range all {
		p.settle()
	}
	h.e.run(together(last))
}

// term is one loss of a head and what was measured of it.
type term struct {
	device.Term
	rows []device.RowLoss // of the micro-batch
	sums []float64        // by slice: of the losses that are known, by the rows' weights
}

// head is what the output layers share: the losses, the objective, and weight gradients.
type head struct {
	e      *engine
	terms  []*term
	wg     *weightGrads
	buffer int               // of its gradients
	loss   rowLossFunc       // of a value or moves-left head
	form   string            // of a value head, by which a target is known or not
	files  func(row int) int // of an auxiliary head, see auxRowLoss; nil = 0

	auxiliary func(row int) []float32 // of a policy head: the auxiliary head's outputs
}

// lose holds the outputs z of row i, of slice s, against what term t learns, and adds
// the gradient to dz.
func (h *head) lose(t *term, s span, i int, dz, z []float32) {
	scale := h.gradScale(t, i)
	if t.Head.Output() != nn.Auxiliary {
		h.measured(t, s, i, h.loss(dz, z, t.Learn(&h.e.batch.Targets[i], h.form), scale))
		return
	}
	files := 0
	if h.files != nil {
		files = h.files(i)
	}
	h.measured(t, s, i, auxRowLoss(dz, z, &t.Term, h.e.batch, i, files, scale))
}

func (h *head) grads() *weightGrads { return h.wg }

// measured takes down the loss of row i, of slice s.
func (h *head) measured(t *term, s span, i int, r kernel.RowLoss) {
	m := &t.rows[i]
	if *m = (device.RowLoss{Loss: math.NaN()}); !r.Known {
		return
	}
	m.Loss = r.Loss
	if r.Hit {
		m.Hit = 1
	}
	t.sums[s.slice] += float64(h.e.batch.Weight[i]) * r.Loss
}

// objective is the head's part of the loss that is minimised: over the rows of
// the micro-batch, the mean of Weight*rowWeight*loss, unknown targets as 0.
func (h *head) objective() float64 {
	sum := 0.0
	for _, t := range h.terms {
		for s := range h.e.numSlices() {
			sum += t.Weight * t.sums[s]
		}
	}
	return sum / float64(h.e.boards)
}

// gradScale is the factor of the gradient of term t's loss in row i.
func (h *head) gradScale(t *term, i int) float32 {
	return float32(h.e.lossScale * t.Weight * float64(h.e.batch.Weight[i]) / float64(h.e.boards))
}
