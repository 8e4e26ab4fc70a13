package cpu

import (
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// convPolicy picks the logits of the legal moves of boards [lo, lo+n) from
// e.planes into b.Prior.
func (e *Evaluator) convPolicy(b *encoding.Batch, lo, n int) {
	for i := range n {
		prior, board := b.PriorOf(lo+i), e.planes[i*encoding.NumSquares*nn.PolicyPlanes:]
		for j, p := range b.LegalOf(lo + i) {
			at := e.net.moves[p] // plane*64 + from square
			prior[j] = board[int(at%encoding.NumSquares)*nn.PolicyPlanes+int(at/encoding.NumSquares)]
		}
	}
}

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
