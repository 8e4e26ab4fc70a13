package cpu

import (
	"math/bits"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// taps of a 3x3 convolution.
const taps = 9

// convPolicy writes the logits of the legal moves of boards [lo, lo+n) to
// b.Prior. h [n][64][F] is the activation of the policy's first convolution. The
// second one is computed as a matrix product over the patches of the squares
// that legal moves start from.
func (e *Evaluator) convPolicy(b *encoding.Batch, h []float32, lo, n int) {
	m, table := &e.net.policyConv2, e.net.moves
	filters := m.k / taps
	for i := range n {
		legal, prior := b.LegalOf(lo+i), b.PriorOf(lo+i)
		var from uint64
		for _, p := range legal {
			from |= 1 << (table[p] % 64)
		}
		board := h[i*64*filters:][:64*filters]
		rows := 0
		for s := from; s != 0; s &= s - 1 {
			gatherPatch(e.patch[rows*m.k:][:m.k], board, bits.TrailingZeros64(s), filters)
			rows++
		}
		kernel.MatMul(e.patchOut, e.patch, m.packed, m.bias, rows, m.k, nn.PolicyPlanes, kernel.None)
		for j, p := range legal {
			plane, sq := table[p]/64, table[p]%64
			row := bits.OnesCount64(from & (1<<sq - 1))
			prior[j] = e.patchOut[row*nn.PolicyPlanes+int(plane)]
		}
	}
}

// gatherPatch copies the 3x3 neighbourhood of a square of board [64][filters] to
// dst [9][filters], in the order of the kernel's taps; zeros off the board.
func gatherPatch(dst, board []float32, sq, filters int) {
	rank, file := sq/8, sq%8
	for t := range taps {
		d := dst[t*filters:][:filters]
		r, f := rank+t/3-1, file+t%3-1
		if r < 0 || r > 7 || f < 0 || f > 7 {
			clear(d)
			continue
		}
		copy(d, board[(r*8+f)*filters:][:filters])
	}
}

// classicalPolicy writes the logits of the legal moves of boards [lo, lo+n) to
// b.Prior, from flat [n][64*32], the activations of the head's convolution.
func (e *Evaluator) classicalPolicy(b *encoding.Batch, flat []float32, lo, n int) {
	m := &e.net.policyFC
	kernel.MatMul(e.policyOut, flat, m.packed, m.bias, n, m.k, m.n, kernel.None)
	for i := range n {
		prior, logits := b.PriorOf(lo+i), e.policyOut[i*m.n:][:m.n]
		for j, p := range b.LegalOf(lo + i) {
			prior[j] = logits[p]
		}
	}
}
