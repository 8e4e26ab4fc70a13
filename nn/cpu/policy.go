package cpu

import (
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// classicalPolicy writes the logits of the legal moves of boards [lo, lo+n) to
// b.Prior, from flat [n][64*32], the activations of the head's convolution.
func (e *Evaluator) classicalPolicy(b *encoding.Batch, flat []float32, lo, n int) {
	m := &e.net.policyFC
	e.mul(e.policyOut, flat, m, n, kernel.None)
	for i := range n {
		prior, logits := b.PriorOf(lo+i), e.policyOut[i*m.n:][:m.n]
		for j, p := range b.LegalOf(lo + i) {
			prior[j] = logits[p]
		}
	}
}
