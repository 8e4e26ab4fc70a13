package cpu

import (
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// pairBuffers are what a tower needs beside the floats of its blocks' outputs where its
// convolutions work on pairs.
type pairBuffers struct {
	x, h    []float32 // [group] boards of F channels
	scratch []float32
}

// pairGroupBytes bounds the activations of a group: half of a second-level cache of 2 MiB.
const pairGroupBytes = 1 << 20

// inPairs says whether the tower's convolutions of f channels work on pairs.
func (n *Net) inPairs(f int) bool {
	return n.input.packed != nil && n.act == kernel.ReLU && kernel.HasPairs(f, n.precision)
}

// pairGroup is how many boards of f channels go through a tower together.
func pairGroup(f int) int {
	pairBytes := 4 * (2*encoding.NumSquares*f + 2*kernel.PairsLen(2, f)) // of two boards
	return min(maxGroup, max(2, 2*(pairGroupBytes/pairBytes)))
}

func newPairBuffers(group, f int) *pairBuffers {
	return &pairBuffers{
		x: make([]float32, kernel.PairsLen(group, f)), h: make([]float32, kernel.PairsLen(group, f)),
		scratch: make([]float32, kernel.PairsScratchLen),
	}
}

// pairBlock replaces e.x and its pairs by the residual block's output.
func (e *Evaluator) pairBlock(k *block, n int) {
	b, c := e.pairs, &k.conv2
	b.conv(b.h, nil, nil, b.x, &k.conv1, n, e.net.act)
	if k.se1.packed == nil {
		b.conv(b.x, nil, nil, b.h, c, n, kernel.None)
	} else {
		// The sums of squares are not wanted: e.gate takes them until it is set.
		b.conv(b.x, e.pool, e.gate, b.h, c, n, kernel.None)
		e.excite(k, n)
	}
	kernel.JoinPairs(e.x, b.x, e.gate, e.beta, n, c.co, e.net.act)
}

func (b *pairBuffers) conv(y, sum, squares, x []float32, c *conv3, boards int, act kernel.Act) {
	kernel.ConvPairs(y, sum, squares, x, c.packed, c.bias, boards, c.ci, c.co, act, b.scratch)
}
