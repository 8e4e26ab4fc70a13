package record

import "math/bits"

// rankScratch orders moves without comparing them: a set of origins for each
// destination gives each move its place by counting bits. The sets are empty
// between calls.
type rankScratch struct {
	from  [64]uint64
	first [64]uint8
}

// order returns what w.sortOrder does, in a fraction of its time. It is valid
// until the next call.
func (r *rankScratch) order(w *walker) []uint8 {
	moves := w.moves.Slice()
	used := uint64(0)
	for _, m := range moves {
		if m>>12 != 0 { // promotions are rare: they sort behind all others
			for set := used; set != 0; set &= set - 1 {
				r.from[bits.TrailingZeros64(set)&63] = 0
			}
			return w.sortOrder()
		}
		r.from[m.To()&63] |= 1 << m.From()
		used |= 1 << m.To()
	}
	n := 0
	for set := used; set != 0; set &= set - 1 {
		to := bits.TrailingZeros64(set) & 63
		r.first[to] = uint8(n)
		n += bits.OnesCount64(r.from[to])
	}
	for i, m := range moves {
		to := m.To() & 63
		rank := int(r.first[to]) + bits.OnesCount64(r.from[to]&(1<<m.From()-1))
		w.order[rank&255] = uint8(i)
	}
	for set := used; set != 0; set &= set - 1 {
		r.from[bits.TrailingZeros64(set)&63] = 0
	}
	return w.order[:len(moves)]
}
