package train

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Where a board's scores of promotions begin, behind those of its 64x64 moves.
const promotions = squares * squares

// attentionPolicy is the attention policy head: an embedding of each square, and the
// products of queries of squares that moves leave and keys of those that they go to.
type attentionPolicy struct {
	policyLoss
	embedding, q, k *conv
	encoders        []encoder
	promotion       int // parameter index
	act             kernel.Act
}

func newAttentionPolicy(e *engine, a nn.Arch, of nn.Head, terms []*term) *attentionPolicy {
	name := of.Prefix()
	h := &attentionPolicy{
		embedding: newSquares(e, name+".embedding"), q: newSquares(e, name+".q"), k: newSquares(e, name+".k"),
		promotion: e.param(name + ".promotion.weight"), act: kernel.ActOf(a.PolicyActivation()),
	}
	h.policyLoss = newPolicyLoss(e, terms, encoding.NumAttention, (*kernel.PolicyOffsets)(encoding.AttentionPolicyIndex()))
	h.wg = newWeightGrads(e, h.embedding, h.q, h.k)
	h.wg.add(h.promotion)
	for i := range of.Encoders {
		h.encoders = append(h.encoders, newEncoder(e, of.EncoderName(i), a.PolicyEncoder(of), nn.PolicyResidual()))
		h.encoders[i].addTo(h.wg)
	}
	return h
}

func (h *attentionPolicy) params() []int { return h.wg.params }

func (h *attentionPolicy) scale() float32 { return float32(1 / math.Sqrt(float64(h.q.co))) }

// attentionPolicyPass is what the forward pass computes of a group. Queries are scaled.
type attentionPolicyPass struct {
	pre, act []float32
	inputs   [][]float32 // of the encoders
	encoders []encoderPass
	x, q, k  []float32
}

func (h *attentionPolicy) compute(g span, w *workspace, x []float32) (p attentionPolicyPass) {
	p.pre = h.embedding.on(g, w, x)
	p.act = w.take(len(p.pre))
	h.act.Forward(p.act, p.pre)
	p.x = p.act
	for i := range h.encoders {
		l, y := &h.encoders[i], w.take(len(p.x))
		pass := l.compute(g, w, p.x, nil, kernel.Stored{}, false)
		l.ln2.forward(y, pass.ffn.y, pass.mid)
		p.inputs, p.encoders = append(p.inputs, p.x), append(p.encoders, pass)
		p.x = y
	}
	p.q, p.k = h.q.on(g, w, p.x), h.k.on(g, w, p.x)
	kernel.Scale(p.q, h.scale())
	return p
}

// forward implements headLayer.
func (h *attentionPolicy) forward(x []float32) passes {
	h.begin()
	width := squares * h.embedding.ci
	return passes{settle: func() {}, last: phase{
		group: func(g span, _ int) {
			w := h.e.workspace(g)
			p, units := h.compute(g, w, g.rows(x, width)), h.q.co
			packed := w.take(kernel.PackedMatLen(units, squares))
			weights := h.e.params[h.promotion].data
			for i := range g.n {
				y, k := board(g.rows(h.y, h.width), i, h.width), board(p.k, i, squares*units)
				kernel.PackMat(packed, k, units, squares)
				kernel.MatMul(y[:promotions], board(p.q, i, squares*units), packed, nil, squares, units, squares, kernel.None)
				eachPromotion(func(at, from, to, target, piece int) {
					y[at] = y[from*squares+to]
					for u, v := range k[to*units:][:units] {
						y[at] += v * (weights[piece*units+u] + weights[3*units+u])
					}
				})
			}
		},
		end: h.lose,
	}}
}

// eachPromotion calls do with the place of each promotion's score, its squares, the file
// of the target and the piece: 0 queen, 1 rook, 2 bishop.
func eachPromotion(do func(at, from, to, target, piece int)) {
	for file := range 8 {
		for target := max(0, file-1); target <= min(7, file+1); target++ {
			for piece := range 3 {
				do(promotions+(8*file+target)*3+piece, 48+file, 56+target, target, piece)
			}
		}
	}
}

// backward implements headLayer.
func (h *attentionPolicy) backward(x, dx []float32, add bool) passes {
	return passes{
		first:  phase{begin: h.wg.reset},
		settle: func() {},
		last: phase{group: func(g span, _ int) {
			w, width := h.e.workspace(g), squares*h.embedding.ci
			d, to := h.back(g, w, g.rows(x, width)), g.rows(dx, width)
			if add {
				kernel.Add(to, to, d)
			} else {
				copy(to, d)
			}
		}},
	}
}

// back returns the gradient of x, a group's rows.
func (h *attentionPolicy) back(g span, w *workspace, x []float32) []float32 {
	p, units := h.compute(g, w, x), h.q.co
	dq, dk := w.take(len(p.q)), w.take(len(p.k))
	packed := w.take(kernel.PackedMatLen(squares, units))
	weights, dWeights := h.e.params[h.promotion].data, h.wg.of(g.slice, h.promotion)
	for i := range g.n {
		dy := board(g.rows(h.dy, h.width), i, h.width)
		q, k := board(p.q, i, squares*units), board(p.k, i, squares*units)
		dq, dk := board(dq, i, squares*units), board(dk, i, squares*units)
		clear(dk)
		eachPromotion(func(at, from, to, target, piece int) {
			d := dy[at]
			if d == 0 {
				return
			}
			dy[from*squares+to] += d
			for u := range units {
				dk[to*units+u] += d * (weights[piece*units+u] + weights[3*units+u])
				dWeights[piece*units+u] += d * k[to*units+u]
				dWeights[3*units+u] += d * k[to*units+u]
			}
		})
		kernel.PackMatTransposed(packed, k, units, squares)
		kernel.MatMul(dq, dy[:promotions], packed, nil, squares, squares, units, kernel.None)
		kernel.MatMulWeightGrad(dk, nil, q, dy[:promotions], squares, units, squares, h.e.workerScratch(g, convScratch, kernel.MatMulWeightGradScratchLen(units, squares)))
	}
	kernel.Scale(dq, h.scale())
	d := h.q.back(g, w, h.wg, p.x, dq)
	kernel.Add(d, d, h.k.back(g, w, h.wg, p.x, dk))
	for i := len(h.encoders) - 1; i >= 0; i-- {
		h.encoders[i].back(g, w, h.wg, p.inputs[i], p.encoders[i], d, nil)
	}
	h.act.Backward(d, p.act, p.pre)
	return h.embedding.back(g, w, h.wg, x, d)
}
