package encoding

// RowReader has the training rows of a window, numbered in the order in which they
// came into it; a row's contents never change. Safe for concurrent use.
type RowReader interface {
	// Range returns the number of the first row and the one behind the last.
	Range() (from, to uint64)
	// ReadRows appends rows to b, those from number from on, one game's at the most,
	// and returns the number of the next one.
	ReadRows(b *TrainBatch, from uint64) (next uint64, err error)
}

// KeptRows stands for the contents of a batch whose reader has them, or reads them
// from Of once and keeps them.
type KeptRows struct {
	Of     RowReader // nil = the batch has its contents itself
	Number []uint64  // [N] the rows' numbers
	Draw   []uint64  // [N] for each row the number that its symmetry is drawn with (DrawTransform); empty = all are shown as they are
}

// AppendKept appends a row of b.Kept.Of by its number, with nothing but a weight.
func (b *TrainBatch) AppendKept(number uint64, weight float32) {
	i := b.growAny(0)
	b.growTargets()
	b.Weight[i] = weight
	b.Kept.Number = append(b.Kept.Number, number)
}
