package train

import (
	"math"

	"github.com/chessbrain/chessbrain/nn/kernel"
)

const squares = 64

// attention weighs the values of squares by the products of their queries and keys. A row
// is a square's queries, keys and values, of heads*depth floats each, or what it has seen,
// as many. Queries are scaled.
type attention struct{ heads, depth int }

// width, inner and pairs are the numbers of a board's rows, of what its squares have seen,
// and of its weights.
func (a attention) width() int { return 3 * a.inner() }
func (a attention) inner() int { return squares * a.heads * a.depth }
func (a attention) pairs() int { return a.heads * squares * squares }

// scale is the factor of queries.
func (a attention) scale() float32 { return float32(1 / math.Sqrt(float64(a.depth))) }

// head returns the queries, keys and values of a head in a board's rows.
func (a attention) head(rows []float32, head int) (q, k, v []float32) {
	n := a.heads * a.depth
	rows = rows[head*a.depth:]
	return rows, rows[n:], rows[2*n:]
}

// forward sets weights [heads][64][64] and seen, a board's rows; extra, if not nil, is
// added to the products before the softmax. scratch has kernel.AttendScratchLen(depth) floats.
func (a attention) forward(scratch, weights, seen, qkv, extra []float32) {
	n := a.heads * a.depth
	for head := range a.heads {
		q, k, v := a.head(qkv, head)
		pairs := head * squares * squares
		var added []float32
		if extra != nil {
			added = extra[pairs:]
		}
		kernel.AttendHead(seen[head*a.depth:], n, weights[pairs:], q, k, v, 3*n, a.depth, 1, added, scratch)
	}
}

// see is the last part of forward, with weights that are known.
func (a attention) see(scratch, weights, seen, qkv []float32) {
	n := a.heads * a.depth
	for head := range a.heads {
		_, _, v := a.head(qkv, head)
		kernel.WeighHead(seen[head*a.depth:], n, weights[head*squares*squares:], v, 3*n, a.depth, scratch)
	}
}

// backward takes dSeen, the gradient of seen, to that of a board's rows, and sets dExtra
// [heads][64][64] to that of what was added.
func (a attention) backward(scratch, dQKV, dExtra, weights, qkv, dSeen []float32) {
	n := a.heads * a.depth
	for head := range a.heads {
		q, k, v := a.head(qkv, head)
		dq, dk, dv := a.head(dQKV, head)
		pairs := head * squares * squares
		kernel.AttendHeadBackward(dq, dk, dv, dExtra[pairs:], weights[pairs:], q, k, v, 3*n, dSeen[head*a.depth:], n, a.depth, scratch)
	}
}
