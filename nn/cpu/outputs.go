package cpu

import (
	"cmp"
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// finish turns the outputs of boards [lo, lo+n), a chunk, into answers.
func (e *Evaluator) finish(b *encoding.Batch, lo, n int) error {
	return cmp.Or(e.finishPolicy(b, lo, n), e.finishWDL(b, lo, n), e.finishPlies(b, lo, n))
}

// finishPolicy turns the logits in b.Prior of boards [lo, lo+n) into
// probabilities.
func (e *Evaluator) finishPolicy(b *encoding.Batch, lo, n int) error {
	for i := lo; i < lo+n; i++ {
		prior := b.PriorOf(i)
		for _, v := range prior {
			if !finite(v) {
				return outputError("policy", i, v)
			}
		}
		kernel.Softmax(prior)
	}
	return nil
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

// finishHead runs the fully connected layers over a chunk of n boards.
func (e *Evaluator) finishHead(h *scalarHead, buf *headBuffers, n int) {
	e.mul(buf.hidden, buf.flat, &h.fc1, n, e.net.act)
	e.mul(buf.out, buf.hidden, &h.fc2, n, kernel.None)
}

// finishWDL turns a chunk's outputs of the value head into WDL.
func (e *Evaluator) finishWDL(b *encoding.Batch, lo, n int) error {
	head := e.net.arch.Head(nn.Value)
	outputs := head.Outputs()
	out := e.value.out[:n*outputs]
	for i, v := range out {
		if !finite(v) {
			return outputError("value", lo+i/outputs, v)
		}
	}
	if head.Form == nn.ValueScalar {
		kernel.Tanh(out, out)
		for i, v := range out {
			b.WDL[lo+i] = [3]float32{(1 + v) / 2, 0, (1 - v) / 2}
		}
		return nil
	}
	for i := range n {
		wdl := out[i*3:][:3]
		kernel.Softmax(wdl)
		b.WDL[lo+i] = [3]float32(wdl)
	}
	return nil
}

// finishPlies turns a chunk's outputs of the moves-left head into M, 0 without the head.
func (e *Evaluator) finishPlies(b *encoding.Batch, lo, n int) error {
	if e.movesLeft.out == nil {
		clear(b.M[lo : lo+n])
		return nil
	}
	for i, v := range e.movesLeft.out[:n] {
		if !finite(v) {
			return outputError("moves left", lo+i, v)
		}
		b.M[lo+i] = max(v, 0)
	}
	return nil
}

func finite(v float32) bool { return v-v == 0 }

func outputError(head string, i int, v float32) error {
	return fmt.Errorf("evaluate: %w: %s of position %d is %v; the weights have overflowed", ErrNotFinite, head, i, v)
}
