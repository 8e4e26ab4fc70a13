package kernel

// sumOp describes the column sums of one pass: s1 = sum u', s2 = sum
// u'*(v-mean), with u' = u where mask > 0, else 0. u, v, mask are [rows][c];
// nil mask: u' = u; nil mean: 0. scale [c] multiplies s2 in float64 (nil: 1).
// store takes u' where there is a mask, else it is nil.
type sumOp struct {
	u, mask, store []float32
	v              Stored
	mean, scale    []float32
}

// slice returns op for the rows from r on, n of them.
func (op *sumOp) slice(r, n, c int) sumOp {
	s := *op
	s.u = cut(op.u, r, n, c)
	s.v = op.v.Slice(r*c, n*c)
	s.mask = cut(op.mask, r, n, c)
	s.store = cut(op.store, r, n, c)
	return s
}

func cut(x []float32, r, n, c int) []float32 {
	if x == nil {
		return nil
	}
	return x[r*c : (r+n)*c]
}

// sumGroup is the number of channels that one pass of a block sums on the stack.
const sumGroup = 64

// columnSums adds op's sums over rows to s1 and s2 [c].
func columnSums(s1, s2 []float64, op *sumOp, rows, c int) {
	var t1, t2 [sumGroup]float32
	for r := 0; r < rows; r += statRows {
		n := min(statRows, rows-r)
		blk := op.slice(r, n, c)
		for c0 := 0; c0 < c; c0 += sumGroup {
			w := min(sumGroup, c-c0)
			blockSums(&t1, &t2, &blk, n, c, c0, w)
			for j := range w {
				s1[c0+j] += float64(t1[j])
				v := float64(t2[j])
				if op.scale != nil {
					v *= float64(op.scale[c0+j])
				}
				s2[c0+j] += v
			}
		}
	}
}

// blockSums computes t1 and t2 of w channels from c0 on over at most statRows
// rows.
func blockSums(t1, t2 *[sumGroup]float32, op *sumOp, rows, c, c0, w int) {
	if op.v.vectors(c) {
		blockSumsVec(t1, t2, op, rows, c, c0, w)
		return
	}
	*t1, *t2 = [sumGroup]float32{}, [sumGroup]float32{}
	for r := range rows {
		for j := range w {
			i := r*c + c0 + j
			u := op.u[i]
			if op.mask != nil {
				if !(op.mask[i] > 0) {
					u = 0
				}
				op.store[i] = u
			}
			t1[j] += u
			v := op.v.float(i)
			if op.mean != nil {
				v -= op.mean[c0+j]
			}
			t2[j] += u * v
		}
	}
}
