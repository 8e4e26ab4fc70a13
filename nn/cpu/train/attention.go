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

// weightsPass are a group's attention weights: floats, or kept numbers that floats takes
// one board of at a time.
type weightsPass struct {
	floats []float32
	kept   kernel.Stored
	pairs  int
}

// newWeightsPass is that of g over kept, which may have nothing.
func (a attention) newWeightsPass(g span, w *workspace, kept kernel.Stored) weightsPass {
	p := weightsPass{pairs: a.pairs()}
	switch {
	case kept.F32 != nil:
		p.floats = g.rows(kept.F32, p.pairs)
	case kept.BF16 != nil:
		p.floats, p.kept = w.take(p.pairs), kept.Slice(g.lo*p.pairs, g.n*p.pairs)
	default:
		p.floats = w.take(g.n * p.pairs)
	}
	return p
}

// to is where board i's weights are to go.
func (p *weightsPass) to(i int) []float32 {
	if p.kept.BF16 != nil {
		return p.floats
	}
	return board(p.floats, i, p.pairs)
}

// keep puts board i's weights by.
func (p *weightsPass) keep(i int) {
	if p.kept.BF16 != nil {
		p.kept.Slice(i*p.pairs, p.pairs).Set(p.floats)
	}
}

// of returns board i's weights, until the next call.
func (p *weightsPass) of(i int) []float32 {
	if p.kept.BF16 != nil {
		return p.kept.Slice(i*p.pairs, p.pairs).Floats(p.floats)
	}
	return board(p.floats, i, p.pairs)
}
