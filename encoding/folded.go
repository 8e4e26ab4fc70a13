package encoding

// The folded table of moves' rows: a man's row for each move, its first kind with each
// outcome, and the kinds of the other lists.
const (
	foldedFirsts  = 6 * NumPolicy
	foldedThreats = foldedFirsts + firstKinds*numOutcomes
	foldedOffsets = foldedThreats + targetKinds - threatKinds
	foldedRows    = foldedOffsets + numFine - assaultKinds
)

// Fold makes one table of those of moves and their kinds, [NumPolicy][width] and
// [NumMoveKinds][width], for who does not learn and reads [Sparse.Folded]. It adds up the
// rows that no move has one without another: those of a man with its squares, and those of
// a first kind with an outcome.
func (f SparseFeatures) Fold(moves, kinds []float32, width int) (table []float32) {
	if f == SparseAttacks {
		return append(append(table, moves...), kinds...)
	}
	table = make([]float32, foldedRows*width)
	add := func(row int, from []float32, of int) {
		to := table[row*width:][:width]
		for i, x := range from[of*width:][:width] {
			to[i] += x
		}
	}
	for man := range 6 {
		for r, move := range policyMoves {
			row := man*NumPolicy + r
			add(row, moves, r)
			add(row, kinds, targetKinds+man*NumSquares+int(move>>6&63))
			add(row, kinds, originKinds+man*NumSquares+int(move&63))
		}
	}
	for row := range foldedThreats - foldedFirsts {
		first, outcome := row/numOutcomes, row%numOutcomes
		add(foldedFirsts+row, kinds, first)
		add(foldedFirsts+row, kinds, outcomeKinds+first/placesOfKind*numOutcomes+outcome)
	}
	copy(table[foldedThreats*width:], kinds[threatKinds*width:targetKinds*width])
	copy(table[foldedOffsets*width:], kinds[assaultKinds*width:])
	return table
}
