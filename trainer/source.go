package trainer

import (
	"context"

	"github.com/chessbrain/chessbrain/encoding"
)

// BatchSource fills b with the next micro-batch. The caller owns b, which comes
// empty and whose capacity says how many rows are wanted. io.EOF means that
// there are no more rows; a short last batch is then returned first, with nil.
type BatchSource interface {
	Next(ctx context.Context, b *encoding.TrainBatch) error
}

// Peeker is a BatchSource that can show its next batch before it is taken, so that a
// device gets it while it works on the step before. What is shown counts as taken,
// and moves the source's position, by Take alone.
type Peeker interface {
	BatchSource
	// Peek fills b with what Next would give now, and gives a ticket for it. It does
	// not wait: false says that nothing is ready.
	Peek(b *encoding.TrainBatch) (ticket uint64, ok bool)
	// Take takes the batch of a ticket in the place of Next. False: Next would give
	// another one by now, and nothing was taken.
	Take(ticket uint64) bool
}
