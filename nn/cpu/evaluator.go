package cpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// ErrNotFinite is wrapped where the net's output is NaN or infinite.
var ErrNotFinite = errors.New("the net's output is not finite")

const (
	// maxChunk is how many boards share a pass of the heads' fully connected layers.
	maxChunk = 64
	// groupBytes bounds the activation buffers of a group, three or two, of more boards
	// than convolutions ask for: half of a second-level cache of 1 MiB, the rest is for
	// weights.
	groupBytes = 512 << 10
	maxGroup   = 16
)

// Evaluator answers batches with one net at a time. It is used by one goroutine
// at a time.
type Evaluator struct {
	net   *Net
	chunk int // boards of a chunk
	group int // boards of a group; a chunk is a few groups

	input   []float32 // [group][64][112]
	x, y, h []float32 // [group][64][F]; y is h where convolutions work in place
	scratch []float32 // of kernel calls
	pool    []float32 // [group][F]: SE
	hidden  []float32 // [group][SE units]
	film    []float32 // [group][2F]: SE's outputs
	gate    []float32 // [group][F]
	beta    []float32 // [group][F]

	policyFlat []float32 // [chunk][64*32]: classical policy head
	policyOut  []float32 // [chunk][1858]
	value      headBuffers
	movesLeft  headBuffers

	policyEmbedded, policyQK []float32 // [group][64][...]: attention policy head
	policyStack              *stackBuffers

	pairs     *pairBuffers      // of a tower whose convolutions work on pairs
	sparse    *sparseBuffers    // of the newest sparse net
	attention *attentionBuffers // of the newest attention net
}

// headBuffers are the activations of a scalar head, for a chunk.
type headBuffers struct {
	flat   []float32 // [chunk][64][channels]
	hidden []float32 // [chunk][hidden]
	out    []float32 // [chunk][outputs]
}

// NewEvaluator returns an evaluator with its own buffers. maxBatch is the usual
// largest batch: smaller ones make smaller buffers, larger batches work too.
func (n *Net) NewEvaluator(maxBatch int) *Evaluator {
	e := &Evaluator{chunk: min(max(maxBatch, 1), maxChunk)}
	e.Swap(n)
	return e
}

// Swap makes n the net of the next Evaluate. Buffers are made anew only where
// the architecture or the precision differs.
func (e *Evaluator) Swap(n *Net) {
	same := e.net != nil && e.net.arch.Equal(n.arch) && e.net.precision == n.precision
	e.net = n
	if !same {
		e.allocate()
	}
}

// InputFormat returns the format of the batches that the net in use takes.
func (e *Evaluator) InputFormat() encoding.InputFormat { return e.net.arch.InputFormat() }

func (e *Evaluator) allocate() {
	if s := e.net.sparse; s != nil {
		e.allocateSparse(s)
		return
	}
	f := e.net.arch.Width()
	p := e.net.precision
	const group = kernel.Conv3Group
	e.group = min(e.chunk, maxGroup, max(group, groupBytes/(3*encoding.NumSquares*f*4)/group*group))
	e.pairs = nil
	if e.net.inPairs(f) {
		e.group = min(e.chunk, pairGroup(f))
		e.pairs = newPairBuffers(e.group, f)
	}
	rows := e.group * encoding.NumSquares
	floats := func(n int) []float32 { return make([]float32, n) }
	e.input = floats(rows * encoding.NumPlanes)
	e.x, e.h = floats(rows*f), floats(rows*f)
	if e.y = e.h; !kernel.Conv3InPlace(f) {
		e.y = floats(rows * f)
	}
	e.scratch = floats(max(kernel.Conv3ScratchLen(encoding.NumPlanes, f, p), kernel.Conv3ScratchLen(f, f, p),
		kernel.PolicyConvScratchLen(f, p), e.net.matScratchLen()))
	e.pool, e.gate, e.beta = floats(e.group*f), floats(e.group*f), floats(e.group*f)
	for i := range e.gate {
		e.gate[i] = 1 // blocks without squeeze-and-excitation
	}
	e.hidden, e.film = floats(e.group*e.net.arch.SEUnits()), floats(e.group*2*f)
	e.policyFlat, e.policyOut = nil, nil
	if e.net.policyFC.packed != nil {
		e.policyFlat = floats(e.chunk * e.net.policyFC.k)
		e.policyOut = floats(e.chunk * e.net.policyFC.n)
	}
	if h := e.net.attentive; h != nil {
		e.policyEmbedded, e.policyQK = floats(rows*h.embedding.n), floats(rows*h.qk.n)
		if h.stack != nil {
			e.policyStack = newStackBuffers(h.stack, e.group, 0)
		}
	}
	if e.net.attention != nil {
		e.attention = newAttentionBuffers(e.net.attention, e.group)
	}
	e.value, e.movesLeft = newHeadBuffers(&e.net.value, e.chunk), newHeadBuffers(e.net.movesLeft, e.chunk)
}

// newHeadBuffers makes those of a head; nil: there is none.
func newHeadBuffers(h *scalarHead, chunk int) (b headBuffers) {
	if h == nil {
		return b
	}
	return headBuffers{
		flat:   make([]float32, chunk*h.fc1.k),
		hidden: make([]float32, chunk*h.fc1.n),
		out:    make([]float32, chunk*h.fc2.n),
	}
}

// Evaluate fills Prior, WDL and M of b's N positions; M is 0 where the net has
// no such head, and a scalar value v gives WDL ((1+v)/2, 0, (1-v)/2). The
// context is looked at between groups of boards. After an error (the context's,
// or one that wraps ErrNotFinite) the answers are not to be used.
func (e *Evaluator) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if got, want := max(b.Format, encoding.FormatClassical), e.InputFormat(); got != want {
		return fmt.Errorf("evaluate: %w: %s reads positions in input format %d, these are of format %d: it plays in matches, engines and exams, "+
			"and plays no games to learn from", nn.ErrArch, e.net.arch, want, got)
	}
	if e.net.sparse != nil {
		return e.evaluateSparse(ctx, b)
	}
	for lo := 0; lo < b.N; lo += e.chunk {
		n := min(e.chunk, b.N-lo)
		for at := 0; at < n; at += e.group {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("evaluate: %w", err)
			}
			e.runGroup(b, lo, at, min(e.group, n-at))
		}
		if e.policyFlat != nil {
			e.classicalPolicy(b, e.policyFlat, lo, n)
		}
		e.finishHead(&e.net.value, &e.value, n)
		if e.net.movesLeft != nil {
			e.finishHead(e.net.movesLeft, &e.movesLeft, n)
		}
		if err := e.finish(b, lo, n); err != nil {
			return err
		}
	}
	return nil
}

// runGroup takes boards [lo+at, lo+at+n) through the tower and the heads'
// convolutions, at = place in the chunk.
func (e *Evaluator) runGroup(b *encoding.Batch, lo, at, n int) {
	c := e.net
	first := lo + at
	if c.attention != nil {
		e.embed(c.attention, b, first, n)
		e.encode(&c.attention.stack, e.attention.stack, e.x, n)
	} else {
		e.expand(b, first, n)
		e.conv(e.x, e.input, &c.input, n, c.act)
	}
	if e.pairs != nil {
		kernel.ToPairs(e.pairs.x, e.x, n, c.input.co)
	}
	for i := range c.tower {
		if e.pairs != nil {
			e.pairBlock(&c.tower[i], n)
		} else {
			e.block(&c.tower[i], n)
		}
	}
	rows := n * encoding.NumSquares
	project := func(dst []float32, m *kernelMat) {
		e.mul(dst[at*encoding.NumSquares*m.n:], e.x, m, rows, c.act)
	}
	project(e.value.flat, &c.value.conv)
	if c.movesLeft != nil {
		project(e.movesLeft.flat, &c.movesLeft.conv)
	}
	switch {
	case c.attentive != nil:
		e.attentionLogits(c.attentive, b, first, n)
		return
	case e.policyFlat != nil:
		project(e.policyFlat, &c.policyProj)
		return
	}
	last, start := &c.policyConv2, b.LegalStart[first:first+n+1]
	if p := e.pairs; p != nil && kernel.PolicyHasPairs(last.ci) {
		p.conv(p.h, nil, nil, p.x, &c.policyConv1, n, c.act)
		kernel.PolicyPairs(b.Prior, p.h, last.packed, last.bias, c.moves, start, b.Legal, n, last.ci)
		return
	}
	e.conv(e.h, e.x, &c.policyConv1, n, c.act)
	kernel.PolicyConv(b.Prior, e.h, last.packed, last.bias, c.moves, start, b.Legal, n, last.ci, c.precision, e.scratch)
}

// expand writes the planes of n positions from first on to e.input.
func (e *Evaluator) expand(b *encoding.Batch, first, n int) {
	f := e.InputFormat()
	if f == encoding.FormatClassical {
		kernel.ExpandInput(e.input, b.Masks[first:], b.Scalars[first:], n)
		return
	}
	for i := range n {
		x, s := e.input[i*encoding.NumSquares*encoding.NumPlanes:], &b.Scalars[first+i]
		kernel.ExpandInput(x, b.Masks[first+i:], []encoding.Scalars{s.Plain(f)}, 1)
		s.Squares(f, func(plane, square int) { x[square*encoding.NumPlanes+plane] = 1 })
	}
}

// mul computes y [rows][m.n] = act(x [rows][m.k] * m + bias).
func (e *Evaluator) mul(y, x []float32, m *kernelMat, rows int, act kernel.Act) {
	if m.half {
		kernel.MatMulBF16(y, x, m.packed, m.bias, rows, m.k, m.n, act, e.scratch)
		return
	}
	kernel.MatMul(y, x, m.packed, m.bias, rows, m.k, m.n, act)
}

func (e *Evaluator) conv(y, x []float32, c *conv3, boards int, act kernel.Act) {
	kernel.Conv3(y, x, c.packed, c.bias, boards, c.ci, c.co, act, e.net.precision, e.scratch)
}

// block replaces e.x by the residual block's output.
func (e *Evaluator) block(k *block, n int) {
	f := k.conv1.co
	act := e.net.act
	size := n * encoding.NumSquares * f
	e.conv(e.h, e.x, &k.conv1, n, act)
	if k.se1.packed == nil {
		e.conv(e.y, e.h, &k.conv2, n, kernel.None)
		kernel.Add(e.x[:size], e.y[:size], e.x[:size])
		act.Forward(e.x[:size], e.x[:size])
		return
	}
	c := &k.conv2
	// The sums of squares are not wanted: e.gate takes them until it is set.
	kernel.Conv3Sums(kernel.Stored{F32: e.y}, e.pool, e.gate, e.h, c.packed, c.bias, n, f, f, kernel.None, e.net.precision, e.scratch)
	e.excite(k, n)
	kernel.SEApply(e.x, kernel.Stored{F32: e.y}, e.gate, e.beta, e.x, n, f, act)
}

// excite sets e.gate and e.beta from e.pool, the sums over the squares.
func (e *Evaluator) excite(k *block, n int) {
	f := k.conv2.co
	kernel.Scale(e.pool[:n*f], 1.0/encoding.NumSquares)
	e.mul(e.hidden, e.pool, &k.se1, n, e.net.act)
	e.mul(e.film, e.hidden, &k.se2, n, kernel.None)
	for i := range n {
		kernel.Sigmoid(e.gate[i*f:][:f], e.film[i*2*f:][:f])
		copy(e.beta[i*f:][:f], e.film[i*2*f+f:][:f])
	}
}
