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
