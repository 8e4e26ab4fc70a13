package reference

import (
	"context"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// Evaluator answers batches by Forward. It has no state and is safe for use by
// many goroutines.
type Evaluator struct{ Net *nn.Net }

// Evaluate fills Prior, WDL and M of b's positions.
func (e *Evaluator) Evaluate(ctx context.Context, b *encoding.Batch) error {
	for i := range b.N {
		if err := ctx.Err(); err != nil {
			return err
		}
		out := Forward(e.Net, &b.Masks[i], &b.Scalars[i], b.LegalOf(i)...)
		for j, v := range out.WDL {
			b.WDL[i][j] = float32(v)
		}
		b.M[i] = float32(out.MovesLeft)
		legal := b.LegalOf(i)
		logits := make([]float64, len(legal))
		for j, p := range legal {
			logits[j] = out.Policy[p]
		}
		for j, p := range Softmax(logits) {
			b.PriorOf(i)[j] = float32(p)
		}
	}
	return nil
}
