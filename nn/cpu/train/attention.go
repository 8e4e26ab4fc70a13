package train

import (
	"math"

	"github.com/chessbrain/chessbrain/nn/kernel"
)

const squares = 64

// attention weighs the values of squares by the products of their queries and keys. Rows
// of queries, keys and values have heads*depth floats.
type attention struct{ heads, depth int }

// attentionScratch is the memory of one head of one board.
type attentionScratch struct{ q, k, v, d, packed []float32 }

func (a attention) scratch(w *workspace) attentionScratch {
	n := squares * a.depth
	return attentionScratch{w.take(n), w.take(n), w.take(n), w.take(n),
		w.take(max(kernel.PackedMatLen(a.depth, squares), kernel.PackedMatLen(squares, a.depth)))}
}

// gather copies the columns of a head out of a board's rows.
func (a attention) gather(dst, rows []float32, head int) {
	for sq := range squares {
		copy(dst[sq*a.depth:][:a.depth], rows[sq*a.heads*a.depth+head*a.depth:])
	}
}

// scatter is its inverse.
func (a attention) scatter(rows, src []float32, head int) {
	for sq := range squares {
		copy(rows[sq*a.heads*a.depth+head*a.depth:][:a.depth], src[sq*a.depth:][:a.depth])
	}
}

func (a attention) scale() float32 { return float32(1 / math.Sqrt(float64(a.depth))) }

// forward sets weights [heads][64][64] and seen, a board's rows; extra, if not nil, is
// added to the products before the softmax.
func (a attention) forward(t attentionScratch, weights, seen, q, k, v, extra []float32) {
	for head := range a.heads {
		p := weights[head*squares*squares:][:squares*squares]
		a.gather(t.q, q, head)
		a.gather(t.k, k, head)
		a.gather(t.v, v, head)
		kernel.Scale(t.q, a.scale())
		kernel.PackMat(t.packed, t.k, a.depth, squares)
		kernel.MatMul(p, t.q, t.packed, nil, squares, a.depth, squares, kernel.None)
		if extra != nil {
			kernel.Add(p, p, extra[head*squares*squares:][:squares*squares])
		}
		kernel.SoftmaxRows(p, squares, squares)
		kernel.PackMatTransposed(t.packed, t.v, a.depth, squares)
		kernel.MatMul(t.d, p, t.packed, nil, squares, squares, a.depth, kernel.None)
		a.scatter(seen, t.d, head)
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
