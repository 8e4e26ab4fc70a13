package encoding

// The folded tables of moves' rows: a man's row for each move, and its first kind with each
// outcome. The lists behind assaultKinds keep their order.
const (
	foldedThreats = firstKinds * numOutcomes
	foldedOffsets = foldedThreats + targetKinds - threatKinds
	foldedKinds   = foldedOffsets + numFine - assaultKinds
)

// Fold adds up rows of the tables of moves and their kinds, [NumPolicy][width] and
// [NumMoveKinds][width], that no move has one without another: those of a man with its
// squares, and those of a first kind with an outcome. For who does not learn, the tables
// that it returns are for [Sparse.Folded].
func (f SparseFeatures) Fold(moves, kinds []float32, width int) (m, k []float32) {
	if f == SparseAttacks {
		return append(m, moves...), append(k, kinds...)
	}
	m, k = make([]float32, 6*NumPolicy*width), make([]float32, foldedKinds*width)
	add := func(to []float32, row int, from []float32, of int) {
		to, from = to[row*width:][:width], from[of*width:][:width]
		for i, x := range from {
			to[i] += x
		}
	}
	for man := range 6 {
		for r, move := range policyMoves {
			row := man*NumPolicy + r
			add(m, row, moves, r)
			add(m, row, kinds, targetKinds+man*NumSquares+int(move>>6&63))
			add(m, row, kinds, originKinds+man*NumSquares+int(move&63))
		}
	}
	for row := range foldedThreats {
		first, outcome := row/numOutcomes, row%numOutcomes
		add(k, row, kinds, first)
		add(k, row, kinds, outcomeKinds+first/placesOfKind*numOutcomes+outcome)
	}
	copy(k[foldedThreats*width:], kinds[threatKinds*width:targetKinds*width])
	copy(k[foldedOffsets*width:], kinds[assaultKinds*width:])
	return m, k
}
