package encoding

import "sync"

// NumSymmetries returns how many transforms show row i as another equally true
// position: 1 (none) with castling rights, 2 (files flipped) with pawns in any
// of its boards, else all 8. The allowed transforms are those below the number.
func (b *Batch) NumSymmetries(i int) Transform {
	s := &b.Scalars[i]
	if s.OurOOO|s.OurOO|s.TheirOOO|s.TheirOO != 0 {
		return 1
	}
	for t := 0; t < NumMasks; t += 13 {
		if b.Masks[i][t]|b.Masks[i][t+6] != 0 { // our and their pawns
			return 2
		}
	}
	return NumTransforms
}

// DrawSymmetry draws one of the transforms that NumSymmetries(i) allows; see
// DrawTransform.
func (b *Batch) DrawSymmetry(i int, n uint64) Transform { return DrawTransform(n, b.NumSymmetries(i)) }

// DrawTransform draws one of the transforms below of, evenly, by a hash of n: nobody
// has to keep a random generator for it.
func DrawTransform(n uint64, of Transform) Transform {
	x := n * 0x9e3779b97f4a7c15 // splitmix64's finisher
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return Transform((x ^ x>>31) % uint64(of))
}

// ApplySymmetry replaces row i by its image under t, one of NumSymmetries(i):
// boards and legal moves; the values beside the moves stay beside them.
func (b *Batch) ApplySymmetry(i int, t Transform) {
	if t == 0 {
		return
	}
	for k := range b.Masks[i] {
		b.Masks[i][k] = t.Mask(b.Masks[i][k])
	}
	image := &PolicyImages()[t]
	legal := b.LegalOf(i)
	for k, p := range legal {
		legal[k] = image[p]
	}
}

// PolicyImages returns for each transform the image of each policy index, or
// NoPolicyIndex where a promotion would leave its rank. It must not be changed.
var PolicyImages = sync.OnceValue(func() *[NumTransforms][NumPolicy]uint16 {
	var images [NumTransforms][NumPolicy]uint16
	for t := range NumTransforms {
		for p, m := range policyMoves {
			images[t][p] = PolicyIndex(t.Move(m))
		}
	}
	return &images
})
