package train

import (
	"slices"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// scalarHead is a 1x1 convolution with batch norm, the mean over the squares where the
// head is pooled, and two fully connected layers to a few numbers a board: the value head
// (win, draw, loss logits, or one value), the moves-left head (plies) and the auxiliary
// head (nn.AuxSurvive and the following).
type scalarHead struct {
	head
	u           *unit
	mean        *squareMean // between the convolution and fc1 of a pooled head, else nil
	fc1, fc2    *conv
	errors      *forecast // of the value's error; nil = it has no loss
	categories  *forecast // of the value's category, likewise
	forecasts   []*forecast
	pre, hidden []float32 // [capacity][fc1.co]
	z, dz       []float32 // [capacity][fc2.co]
	h           []float32 // [capacity][64][channels]: the convolution's activations
	dHidden     []float32
}

// forecast is a layer beside fc2 whose outputs play does not use.
type forecast struct {
	layer *conv
	z, dz []float32 // [capacity][layer.co]
}

// forecast returns the layer of a name with its outputs where one of the terms is of it,
// else nil.
func (h *scalarHead) forecast(name string, of func(t *term) bool) *forecast {
	if !slices.ContainsFunc(h.terms, of) {
		return nil
	}
	l := newConv(h.e, name, 0, true)
	f := &forecast{layer: l, z: make([]float32, h.e.capacity*l.co), dz: make([]float32, h.e.capacity*l.co)}
	h.forecasts = append(h.forecasts, f)
	return f
}

// row returns the outputs of row i and their gradients.
func (f *forecast) row(i int) (z, dz []float32) {
	n := f.layer.co
	return f.z[i*n:][:n], f.dz[i*n:][:n]
}

func newScalarHead(e *engine, of nn.Head, terms []*term) *scalarHead {
	label := of.Prefix()
	h := &scalarHead{head: head{e: e, terms: terms, loss: wdlRowLoss, form: of.Form}, u: newUnit(e, label+".conv", label+".bn", e.act, true)}
	switch {
	case of.Output == nn.MovesLeft:
		h.loss = movesLeftRowLoss
	case of.Form == nn.ValueScalar:
		h.loss = scalarRowLoss
	}
	inputs := h.u.conv.co
	if of.Kind == nn.HeadPooled {
		h.mean, inputs = newSquareMean(e.capacity, h.u.conv.co), 0
	}
	h.fc1 = newConv(e, label+".fc1", inputs, true)
	h.fc2 = newConv(e, label+".fc2", 0, true)
	h.pre, h.hidden = make([]float32, e.capacity*h.fc1.co), make([]float32, e.capacity*h.fc1.co)
	h.dHidden = make([]float32, e.capacity*h.fc1.co)
	h.z, h.dz = make([]float32, e.capacity*h.fc2.co), make([]float32, e.capacity*h.fc2.co)
	h.h = make([]float32, e.capacity*64*h.u.conv.co)
	layers := []*conv{h.u.conv, h.fc1, h.fc2}
	h.errors = h.forecast(label+".error", func(t *term) bool { return t.Errors })
	h.categories = h.forecast(label+".categories", func(t *term) bool { return t.Categorical })
	for _, f := range h.forecasts {
		layers = append(layers, f.layer)
	}
	h.wg = newWeightGrads(e, layers...)
	return h
}

func (h *scalarHead) params() []int {
	list := slices.Concat(h.u.params(), h.fc1.params(), h.fc2.params())
	for _, f := range h.forecasts {
		list = append(list, f.layer.params()...)
	}
	return list
}

// forward computes the outputs from the tower's, their losses, and the losses'
// gradient with respect to the outputs.
func (h *scalarHead) forward(x []float32) passes {
	return passes{
		first:  h.u.inputPass(x),
		settle: h.u.bn.settle,
		last: phase{end: func(s span) {
			a := s.rows(h.h, 64*h.u.conv.co)
			h.u.activate(s, a)
			if h.mean != nil {
				h.mean.forward(s, a)
			}
			h.fc1.forward(s, s.rows(h.pre, h.fc1.co), h.input(s))
			h.e.act.Forward(s.rows(h.hidden, h.fc1.co), s.rows(h.pre, h.fc1.co))
			h.fc2.forward(s, s.rows(h.z, h.fc2.co), s.rows(h.hidden, h.fc1.co))
			for _, f := range h.forecasts {
				f.layer.forward(s, s.rows(f.z, f.layer.co), s.rows(h.hidden, h.fc1.co))
				clear(s.rows(f.dz, f.layer.co))
			}
			h.loseAll(s)
		}},
	}
}

// input is what fc1 reads, rows of s: the convolution's activations, or their means.
func (h *scalarHead) input(s span) []float32 {
	if h.mean != nil {
		return s.rows(h.mean.y, h.mean.channels)
	}
	return s.rows(h.h, 64*h.u.conv.co)
}

// loseAll takes the losses of a slice.
func (h *scalarHead) loseAll(s span) {
	clear(s.rows(h.dz, h.fc2.co))
	for _, t := range h.terms {
		t.sums[s.slice] = 0
		for i := s.lo; i < s.lo+s.n; i++ {
			z, dz := h.z[i*h.fc2.co:][:h.fc2.co], h.dz[i*h.fc2.co:][:h.fc2.co]
			if !t.Errors && !t.Categorical {
				h.lose(t, s, i, dz, z)
				continue
			}
			q := t.Learn(&h.e.batch.Targets[i], nn.ValueScalar).Q
			if t.Errors {
				h.measured(t, s, i, errorRowLoss(&h.errors.dz[i], h.errors.z[i], z, q, h.gradScale(t, i)))
				continue
			}
			f, df := h.categories.row(i)
			h.measured(t, s, i, categoryRowLoss(df, f, q, h.gradScale(t, i)))
		}
	}
}

// backward sets the gradients of the parameters and sets dx to that of x, or
// adds it if add.
func (h *scalarHead) backward(x, dx []float32, add bool) passes {
	w, n := 64*h.u.conv.co, h.fc1.co
	d := h.e.gradBuffer(h.buffer, w)
	return passes{
		first: phase{end: func(s span) {
			h.wg.reset(s)
			h.u.bn.begin(s)
			hidden, dHidden, dz := s.rows(h.hidden, n), s.rows(h.dHidden, n), s.rows(h.dz, h.fc2.co)
			h.fc2.weightGrad(s, 0, h.wg, hidden, dz)
			h.fc2.inputGrad(s, dHidden, dz)
			for _, f := range h.forecasts {
				dz := s.rows(f.dz, f.layer.co)
				f.layer.weightGrad(s, 0, h.wg, hidden, dz)
				d := h.e.workerScratch(s, actBuffer, len(dHidden))
				f.layer.inputGrad(s, d, dz)
				kernel.Add(dHidden, dHidden, d)
			}
			h.e.act.Backward(dHidden, hidden, s.rows(h.pre, n))
			h.fc1.weightGrad(s, 0, h.wg, h.input(s), dHidden)
			if h.mean == nil {
				h.fc1.inputGrad(s, s.rows(d, w), dHidden)
			} else {
				h.fc1.inputGrad(s, s.rows(h.mean.dy, h.mean.channels), dHidden)
				h.mean.backward(s, s.rows(d, w))
			}
			h.u.deactivate(s, s.rows(d, w), s.rows(d, w), s.rows(h.h, w))
		}},
		settle: h.u.bn.settleBackward,
		last:   h.u.headPhase(h.wg, x, d, dx, add),
	}
}
