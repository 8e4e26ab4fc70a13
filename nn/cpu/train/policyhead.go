package train

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// policyHead is a convolution with batch norm, then a convolution with bias to
// 80 planes of which the legal moves' logits are taken (convolutional), or a
// fully connected layer to all 1858 policy indices (classical).
type policyHead struct {
	policyLoss
	u    *unit
	last *conv // a convolution, or the fully connected layer of the classical head
}

// policyLoss is the losses of a policy head of any kind over its outputs.
type policyLoss struct {
	head
	width   int // outputs a board
	off     *kernel.PolicyOffsets
	y, dy   []float32
	prob    []float32 // beside the batch's Legal: the net's policy
	entropy []float64 // by row: of the net's policy, NaN where the target is not known
}

func newPolicyLoss(e *engine, terms []*term, width int, off *kernel.PolicyOffsets) policyLoss {
	if !terms[0].plain() { // of a further head: the cross entropy is taken with it, without weight
		terms = append([]*term{{rows: make([]device.RowLoss, e.capacity), sums: make([]float64, e.maxSlices())}}, terms...)
	}
	return policyLoss{head: head{e: e, terms: terms}, width: width, off: off,
		y: make([]float32, e.capacity*width), dy: make([]float32, e.capacity*width), entropy: make([]float64, e.capacity)}
}

// begin makes room for the batch's moves.
func (h *policyLoss) begin() {
	if n := len(h.e.batch.Legal); len(h.prob) < n {
		h.prob = make([]float32, n)
	}
}

func newPolicyHead(e *engine, of nn.Head, terms []*term) *policyHead {
	name := of.Prefix()
	h, off := &policyHead{u: newUnit(e, name+".conv1", name+".bn", e.act, true)}, kernel.NewFlatPolicyOffsets()
	if of.Kind == nn.PolicyClassical {
		h.last = newConv(e, name+".fc", h.u.conv.co, true)
	} else {
		h.last, off = newConv(e, name+".conv2", 0, true), kernel.NewConvPolicyOffsets(encoding.ConvPolicyIndex())
	}
	if of.Name != "" {
		h.u.conv.apart()
		h.last.apart()
	}
	h.policyLoss = newPolicyLoss(e, terms, h.last.perBoard*h.last.co, off)
	h.wg = newWeightGrads(e, h.u.conv, h.last)
	return h
}

func (h *policyHead) params() []int { return append(h.u.params(), h.last.params()...) }

// forward computes the logits of the legal moves from the tower's output, their
// loss, and the loss's gradient with respect to the outputs.
func (h *policyHead) forward(x []float32) passes {
	h.begin()
	p := passes{first: h.u.inputPass(x), settle: h.u.bn.settle, last: phase{end: h.lose}}
	forward := func(g span, _ int) { h.last.forward(g, g.rows(h.y, h.width), h.u.activation(g)) }
	if h.last.perBoard == 1 {
		p.last.begin = func(s span) { forward(s, 0) }
	} else {
		p.last.group = forward
	}
	return p
}

// lose takes the losses of a slice.
func (h *policyLoss) lose(s span) {
	for _, t := range h.terms {
		t.sums[s.slice] = 0
	}
	t := h.terms[0]
	for i := s.lo; i < s.lo+s.n; i++ {
		var dy []float32
		if h.e.train {
			dy = h.dy[i*h.width:][:h.width]
		}
		b := h.e.batch
		prob, moves, target := h.prob[b.LegalStart[i]:b.LegalStart[i+1]], b.LegalOf(i), b.PolicyOf(i)
		if t.Name == nn.Opponent {
			prob, moves, target = h.reply(s, i)
		}
		r := kernel.PolicyCrossEntropy(dy, prob, h.y[i*h.width:][:h.width], h.off, moves, target, h.gradScale(t, i))
		h.measured(t, s, i, r)
		if h.entropy[i] = r.Entropy; !r.Known {
			h.entropy[i] = math.NaN()
		}
		if len(h.terms) > 1 {
			h.loseFurther(s, i, prob, dy)
		}
	}
}

// allMoves are the policy indices.
var allMoves = func() (all [encoding.NumPolicy]uint16) {
	for i := range all {
		all[i] = uint16(i)
	}
	return all
}()

// reply returns what row i of a head for the opponent's reply has in the place of legal
// moves and a policy: all moves, as the row does not say which replies are legal, and the
// reply as target, with nothing where it is not known. prob, beside the moves, is scratch.
func (h *policyLoss) reply(s span, i int) (prob []float32, moves []uint16, target []float32) {
	buffer := h.e.workerScratch(s, softBuffer, 2*encoding.NumPolicy)
	target = buffer[encoding.NumPolicy:]
	clear(target)
	if at := h.e.batch.Ahead[i].ReplyIndex(); at != encoding.NoPolicyIndex {
		target[at] = 1
	}
	return buffer[:encoding.NumPolicy], allMoves[:], target
}

// loseFurther takes the losses of row i that are soft or optimistic, and adds their gradients to dy
// where they are wanted. logits, beside the legal moves, is scratch.
func (h *policyLoss) loseFurther(s span, i int, logits, dy []float32) {
	legal := h.e.batch.LegalOf(i)
	for j, v := range legal {
		logits[j] = h.y[i*h.width+int(h.off[v])]
	}
	h.furtherPolicyTerms(s, i, logits, func(grad []float32) {
		if dy == nil {
			return
		}
		for j, v := range legal {
			dy[h.off[v]] += grad[j]
		}
	})
}

// backward sets the gradients of the parameters and sets dx to that of x, or
// adds it if add.
func (h *policyHead) backward(x, dx []float32, add bool) passes {
	w := 64 * h.u.conv.co
	d := h.e.gradBuffer(h.buffer, w)
	p := passes{
		settle: h.u.bn.settleBackward,
		last:   h.u.headPhase(h.wg, x, d, dx, add),
	}
	p.first.begin = func(s span) {
		h.wg.reset(s)
		h.u.bn.begin(s)
	}
	backward := func(g span, at int) {
		a, d, dy := h.u.activation(g), g.rows(d, w), g.rows(h.dy, h.width)
		h.last.weightGrad(g, at, h.wg, a, dy)
		h.last.inputGrad(g, d, dy)
		h.u.deactivate(g, d, d, a)
	}
	if h.last.perBoard == 1 {
		p.first.end = func(s span) { backward(s, 0) }
		return p
	}
	p.first.group = backward
	p.first.end = func(s span) { h.last.finishWeightGrad(s, h.wg) }
	return p
}
