package train

import (
	"math"

	"github.com/chessbrain/chessbrain/nn/kernel"
)

const squares = 64

// attention weighs the values of squares by the products of their queries and keys. Rows
// of queries, keys and values have heads*depth floats.
type attention struct{ heads, depth int }

// attentionScratch is the backward pass's memory of one head of one board.
type attentionScratch struct{ q, k, v, d, packed []float32 }

func (a attention) scratch(w *workspace) attentionScratch {
	n := squares * a.depth
	return attentionScratch{w.take(n), w.take(n), w.take(n), w.take(n),
		w.take(max(kernel.PackedMatLen(a.depth, squares), kernel.PackedMatLen(squares, a.depth)))}
}

// gather copies the columns of a head out of a board's rows, scatter puts them back.
func (a attention) gather(dst, rows []float32, head int) {
	kernel.GatherHead(dst, rows[head*a.depth:], a.heads*a.depth, a.depth)
}

func (a attention) scatter(rows, src []float32, head int) {
	kernel.ScatterHead(rows[head*a.depth:], src, a.heads*a.depth, a.depth)
}

func (a attention) scale() float32 { return float32(1 / math.Sqrt(float64(a.depth))) }

// forward sets weights [heads][64][64] and seen, a board's rows; extra, if not nil, is
// added to the products before the softmax. scratch has kernel.AttendScratchLen(depth) floats.
func (a attention) forward(scratch, weights, seen, q, k, v, extra []float32) {
	inner := a.heads * a.depth
	for head := range a.heads {
		at, pairs := head*a.depth, head*squares*squares
		var added []float32
		if extra != nil {
			added = extra[pairs:]
		}
		kernel.AttendHead(seen[at:], inner, weights[pairs:], q[at:], k[at:], v[at:], inner, a.depth, a.scale(), added, scratch)
	}
}

// backward takes dSeen, the gradient of seen, to those of a board's queries, keys and
// values, and sets dExtra [heads][64][64] to that of what was added.
func (a attention) backward(t attentionScratch, dq, dk, dv, dExtra, weights, q, k, v, dSeen []float32) {
	for head := range a.heads {
		p, dp := weights[head*squares*squares:][:squares*squares], dExtra[head*squares*squares:][:squares*squares]
		a.gather(t.d, dSeen, head)
		a.gather(t.v, v, head)
		kernel.PackMat(t.packed, t.v, a.depth, squares)
		kernel.MatMul(dp, t.d, t.packed, nil, squares, a.depth, squares, kernel.None)
		a.outer(dv, t.v, p, t.d, head)
		kernel.SoftmaxRowsBackward(dp, dp, p, squares, squares)
		a.gather(t.q, q, head)
		a.gather(t.k, k, head)
		kernel.Scale(t.q, a.scale())
		a.outer(dk, t.v, dp, t.q, head)
		kernel.PackMatTransposed(t.packed, t.k, a.depth, squares)
		kernel.MatMul(t.d, dp, t.packed, nil, squares, squares, a.depth, kernel.None)
		kernel.Scale(t.d, a.scale())
		a.scatter(dq, t.d, head)
	}
}

// outer scatters p^T*x, of [64][64] and [64][depth], to a head of rows; sum is scratch.
func (a attention) outer(rows, sum, p, x []float32, head int) {
	clear(sum)
	kernel.MatMulWeightGrad(sum, nil, x, p, squares, a.depth, squares, nil)
	a.scatter(rows, sum, head)
}
