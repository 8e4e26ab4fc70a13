package train

import (
	"math"

	"github.com/chessbrain/chessbrain/nn/kernel"
)

const squares = 64

// attention weighs the values of squares by the products of their queries and keys. Rows
// of queries, keys and values have heads*depth floats.
type attention struct{ heads, depth int }

// inner and pairs are the numbers of a board: of its queries, and of its weights.
func (a attention) inner() int { return squares * a.heads * a.depth }
func (a attention) pairs() int { return a.heads * squares * squares }

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

// see is the last part of forward, with weights that are known.
func (a attention) see(scratch, weights, seen, v []float32) {
	inner := a.heads * a.depth
	for head := range a.heads {
		at := head * a.depth
		kernel.WeighHead(seen[at:], inner, weights[head*squares*squares:], v[at:], inner, a.depth, scratch)
	}
}

// backward takes dSeen, the gradient of seen, to those of a board's queries, keys and
// values, and sets dExtra [heads][64][64] to that of what was added.
func (a attention) backward(scratch, dq, dk, dv, dExtra, weights, q, k, v, dSeen []float32) {
	inner := a.heads * a.depth
	for head := range a.heads {
		at, pairs := head*a.depth, head*squares*squares
		kernel.AttendHeadBackward(dq[at:], dk[at:], dv[at:], dExtra[pairs:], weights[pairs:], q[at:], k[at:], v[at:], dSeen[at:], inner, a.depth, scratch)
	}
	kernel.Scale(dq, a.scale())
	kernel.Scale(dk, a.scale())
}
