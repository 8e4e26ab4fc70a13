package cpu

import (
	"math"
	"math/bits"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// attentionBody is the packed body of an attention net.
type attentionBody struct {
	inputs      int       // of the embedding's layer
	said        []float32 // [64][inputs-112]: encoding.SquareMap; nil where the men say it
	table, bias []float32 // of the men: [square*12 + plane][64*said], [64*said]
	fc          kernelMat
	ln1, ln2    norm      // of a dense embedding
	mul, add    []float32 // gates, [64][width]; nil without
	ffn         feedForward
	stack       encoderStack
}

// encoderStack is encoders one after the other, all of the same sizes.
type encoderStack struct {
	encoders       []encoder
	heads, depth   int
	scale, epsilon float32   // nn.Residual
	smolgen        kernelMat // of all encoders: a head's units to 64*64; packed is nil without
}

// norm is a layer norm.
type norm struct{ gamma, beta []float32 }

// feedForward is two layers on each square.
type feedForward struct {
	in, out kernelMat
	act     kernel.Act
}

type encoder struct {
	qkv, out kernelMat // queries, divided by the root of the head's width, keys and values
	ln1, ln2 norm
	ffn      feedForward

	// Of smolgen.
	compress, fc1, fc2 kernelMat
	norm1, norm2       norm
	act                kernel.Act
}

// attentionPacker packs the parts of an attention net.
type attentionPacker struct {
	net *nn.Net
	p   kernel.Precision
}

func (k attentionPacker) dense(name string) kernelMat { return packDense(k.net.Dense(name), k.p) }

func (k attentionPacker) norm(name string) norm {
	return norm{slices.Clone(k.net.Get(name + ".gamma")), slices.Clone(k.net.Get(name + ".beta"))}
}

func (k attentionPacker) feedForward(name string, b nn.Block) feedForward {
	return feedForward{k.dense(name + ".ffn1"), k.dense(name + ".ffn2"), kernel.ActOf(b.HiddenActivation)}
}

// stacked packs layers of one input as one, their outputs behind each other.
func stacked(p kernel.Precision, layers ...nn.Dense) kernelMat {
	all := nn.Dense{In: layers[0].In}
	for _, d := range layers {
		all.Out += d.Out
		all.Weight, all.Bias = append(all.Weight, d.Weight...), append(all.Bias, d.Bias...)
	}
	return packDense(all, p)
}

func packAttention(n *nn.Net, p kernel.Precision) *attentionBody {
	k, a := attentionPacker{n, p}, n.Arch
	first := a.Blocks[0]
	b := &attentionBody{fc: k.dense("input.fc"), stack: k.stack(nn.BlockName, 1, a.Blocks[1:], a.BodyResidual())}
	b.inputs = b.fc.k
	if first.Kind == nn.BlockDenseEmbedding {
		d := n.Dense("input.men")
		b.table, b.bias = make([]float32, len(d.Weight)), slices.Clone(d.Bias)
		kernel.TransposeRows(b.table, d.Weight, 1, d.Out, d.In)
		b.ln1, b.ln2, b.ffn = k.norm("input.ln1"), k.norm("input.ln2"), k.feedForward("input", first)
	} else {
		for sq := range encoding.NumSquares {
			row := encoding.SquareMap(sq)
			b.said = append(b.said, row[:]...)
		}
	}
	if first.Gated > 0 {
		size := encoding.NumSquares * first.Width
		b.mul, b.add = make([]float32, size), make([]float32, size)
		kernel.TransposeRows(b.mul, n.Get("input.gate.gamma"), 1, first.Width, encoding.NumSquares)
		kernel.TransposeRows(b.add, n.Get("input.gate.beta"), 1, first.Width, encoding.NumSquares)
	}
	return b
}

// stack packs encoders, whose parameters' names begin with name(from) and so on.
func (k attentionPacker) stack(name func(int) string, from int, blocks []nn.Block, r nn.Residual) encoderStack {
	n, s := k.net, encoderStack{scale: float32(r.Scale), epsilon: float32(r.Epsilon), heads: blocks[0].Heads, depth: blocks[0].HeadWidth}
	for i, block := range blocks {
		name := name(from + i)
		e := encoder{
			qkv: stacked(k.p, n.Dense(name+".q").Scaled(1/math.Sqrt(float64(s.depth))), n.Dense(name+".k"), n.Dense(name+".v")),
			out: k.dense(name + ".out"), ln1: k.norm(name + ".ln1"), ln2: k.norm(name + ".ln2"), ffn: k.feedForward(name, block),
		}
		if block.Kind == nn.BlockSmolgen {
			name += ".smolgen"
			e.compress, e.fc1, e.fc2 = k.dense(name+".compress"), k.dense(name+".fc1"), k.dense(name+".fc2")
			e.norm1, e.norm2, e.act = k.norm(name+".ln1"), k.norm(name+".ln2"), kernel.ActOf(block.SmolgenActivation)
		}
		s.encoders = append(s.encoders, e)
	}
	if s.encoders[0].compress.packed != nil {
		s.smolgen = k.dense("smolgen")
	}
	return s
}

// mats lists all matrices.
func (b *attentionBody) mats() []kernelMat {
	return append(b.stack.mats(), b.fc, b.ffn.in, b.ffn.out)
}

// mats lists all matrices.
func (s *encoderStack) mats() []kernelMat {
	list := []kernelMat{s.smolgen}
	for _, e := range s.encoders {
		list = append(list, e.qkv, e.out, e.ffn.in, e.ffn.out, e.compress, e.fc1, e.fc2)
	}
	return list
}

// attentionBuffers are an evaluator's for the embedding of a group.
type attentionBuffers struct {
	input []float32 // [64][inputs] each
	said  []float32 // [64][inputs-112]
	rows  []uint16  // of the men
	stack *stackBuffers
}

func newAttentionBuffers(b *attentionBody, group int) *attentionBuffers {
	return &attentionBuffers{
		input: make([]float32, group*encoding.NumSquares*b.inputs), said: make([]float32, len(b.bias)),
		stack: newStackBuffers(&b.stack, group, b.ffn.in.n),
	}
}

// stackBuffers are an evaluator's for the boards of a group.
type stackBuffers struct {
	y      []float32 // [64][width]
	hidden []float32 // [64][units]
	qkv    []float32 // [64][3*heads*depth]
	seen   []float32 // [64][heads*depth]: values, weighted by attention

	compressed, smolgen1, smolgen2 []float32
	extra                          []float32 // [heads][64][64]

	logits, scratch []float32 // [64][64] of one head of one board, and what its product needs
}

// newStackBuffers makes them for feed-forward layers of at least hidden units.
func newStackBuffers(s *encoderStack, group, hidden int) *stackBuffers {
	rows, inner := group*encoding.NumSquares, s.heads*s.depth
	floats := func(n int) []float32 { return make([]float32, n) }
	e := &s.encoders[0]
	buf := &stackBuffers{
		y: floats(rows * e.out.n), hidden: floats(rows * max(e.ffn.in.n, hidden)), qkv: floats(rows * 3 * inner), seen: floats(rows * inner),
		logits: floats(encoding.NumSquares * encoding.NumSquares), scratch: floats(kernel.AttendScratchLen(s.depth)),
	}
	if e.compress.packed != nil {
		buf.compressed, buf.smolgen1, buf.smolgen2 = floats(rows*e.compress.n), floats(group*e.fc1.n), floats(group*e.fc2.n)
		buf.extra = floats(group * s.heads * encoding.NumSquares * encoding.NumSquares)
	}
	return buf
}

// encode takes x, of n boards, through the encoders.
func (e *Evaluator) encode(s *encoderStack, buf *stackBuffers, x []float32, n int) {
	rows := n * encoding.NumSquares
	for i := range s.encoders {
		k := &s.encoders[i]
		if k.compress.packed != nil {
			e.mul(buf.compressed, x, &k.compress, rows, kernel.None)
			e.mul(buf.smolgen1, buf.compressed, &k.fc1, n, k.act)
			k.norm1.of(buf.smolgen1, buf.smolgen1, nil, 1, n, nn.InnerEpsilon)
			e.mul(buf.smolgen2, buf.smolgen1, &k.fc2, n, k.act)
			k.norm2.of(buf.smolgen2, buf.smolgen2, nil, 1, n, nn.InnerEpsilon)
			e.mul(buf.extra, buf.smolgen2, &s.smolgen, n*s.heads, kernel.None)
		}
		e.mul(buf.qkv, x, &k.qkv, rows, kernel.None)
		for board := range n {
			for head := range s.heads {
				e.attend(s, buf, board, head)
			}
		}
		e.mul(buf.y, buf.seen, &k.out, rows, kernel.None)
		k.ln1.of(x, buf.y, x, s.scale, rows, s.epsilon)
		e.feedForward(&k.ffn, &k.ln2, buf, x, s.scale, rows, s.epsilon)
	}
}

// attend weighs the values of one head of one board: buf.seen's columns of it. Queries are
// scaled.
func (e *Evaluator) attend(s *encoderStack, buf *stackBuffers, board, head int) {
	const pairs = encoding.NumSquares * encoding.NumSquares
	inner, row := s.heads*s.depth, board*encoding.NumSquares
	var extra []float32
	if buf.extra != nil {
		extra = buf.extra[(board*s.heads+head)*pairs:]
	}
	qkv := buf.qkv[row*3*inner+head*s.depth:]
	kernel.AttendHead(buf.seen[row*inner+head*s.depth:], inner, buf.logits, qkv, qkv[inner:], qkv[2*inner:], 3*inner, s.depth, 1, extra, buf.scratch)
}

// of is the layer norm of scale*x + skip, rows of them.
func (m *norm) of(y, x, skip []float32, scale float32, rows int, epsilon float32) {
	kernel.LayerNorm(y, x, skip, scale, m.gamma, m.beta, rows, len(m.gamma), epsilon)
}

// feedForward replaces x.
func (e *Evaluator) feedForward(f *feedForward, m *norm, buf *stackBuffers, x []float32, scale float32, rows int, epsilon float32) {
	e.mul(buf.hidden, x, &f.in, rows, f.act)
	e.mul(buf.y, buf.hidden, &f.out, rows, kernel.None)
	m.of(x, buf.y, x, scale, rows, epsilon)
}

// embed sets e.x to the embedding of n boards from first on.
func (e *Evaluator) embed(c *attentionBody, b *encoding.Batch, first, n int) {
	buf, rows := e.attention, n*encoding.NumSquares
	said := c.inputs - encoding.NumPlanes
	for i := range n {
		e.expand(b, first+i, 1)
		from := c.said
		if from == nil {
			from = e.menSay(c, &b.Masks[first+i])
		}
		for sq := range encoding.NumSquares {
			row := buf.input[(i*encoding.NumSquares+sq)*c.inputs:][:c.inputs]
			copy(row, e.input[sq*encoding.NumPlanes:][:encoding.NumPlanes])
			copy(row[encoding.NumPlanes:], from[sq*said:][:said])
		}
	}
	e.mul(e.x, buf.input, &c.fc, rows, e.net.act)
	if c.table != nil {
		c.ln1.of(e.x, e.x, nil, 1, rows, nn.InnerEpsilon)
	}
	if c.mul != nil {
		kernel.BatchNormApply(e.x, kernel.Stored{F32: e.x}, c.mul, c.add, nil, n, len(c.mul), kernel.None)
	}
	if c.table != nil {
		e.feedForward(&c.ffn, &c.ln2, buf.stack, e.x, c.stack.scale, rows, nn.InnerEpsilon)
	}
}

// menSay returns what the men of a position say to its squares, [64][said].
func (e *Evaluator) menSay(c *attentionBody, masks *[encoding.NumMasks]uint64) []float32 {
	buf := e.attention
	buf.rows = buf.rows[:0]
	for plane, m := range masks[:encoding.MenPlanes] {
		for ; m != 0; m &= m - 1 {
			buf.rows = append(buf.rows, uint16(bits.TrailingZeros64(m)*encoding.MenPlanes+plane))
		}
	}
	copy(buf.said, c.bias)
	kernel.AddRows(buf.said, c.table, len(c.bias), buf.rows, nil)
	return buf.said
}

// attentionPolicy is a packed attention policy head. Units are filled up with zeros to
// whole blocks of a row.
type attentionPolicy struct {
	embedding, qk kernelMat // queries, divided by the root of the units, and keys
	promotion     []float32 // [4][units]
	units         int
	act           kernel.Act
	stack         *encoderStack // nil without
	moves         *[encoding.NumPolicy]uint16
}

func packAttentionPolicy(n *nn.Net, l nn.Layers, p kernel.Precision) *attentionPolicy {
	a := n.Arch
	units := l.Dense[1].Out
	padded := (units + kernel.RowBlock - 1) / kernel.RowBlock * kernel.RowBlock
	pad := func(d nn.Dense) nn.Dense {
		d.Weight, d.Bias = append(slices.Clone(d.Weight), make([]float32, (padded-units)*d.In)...), append(slices.Clone(d.Bias), make([]float32, padded-units)...)
		d.Out = padded
		return d
	}
	out := &attentionPolicy{
		embedding: packDense(l.Dense[0], p), qk: stacked(p, pad(l.Dense[1].Scaled(1/math.Sqrt(float64(units)))), pad(l.Dense[2])),
		units: padded, act: kernel.ActOf(a.PolicyActivation()), moves: encoding.AttentionPolicyIndex(),
	}
	if h := *a.Head(nn.Policy); h.Encoders > 0 {
		s := attentionPacker{n, p}.stack(h.EncoderName, 0, slices.Repeat([]nn.Block{a.PolicyEncoder(h)}, h.Encoders), nn.PolicyResidual())
		out.stack = &s
	}
	for row := range slices.Chunk(l.Dense[3].Weight, units) {
		out.promotion = append(append(out.promotion, row...), make([]float32, padded-units)...)
	}
	return out
}

// attentionLogits writes the logits of the legal moves of n boards from first on to
// b.Prior.
func (e *Evaluator) attentionLogits(h *attentionPolicy, b *encoding.Batch, first, n int) {
	rows := n * encoding.NumSquares
	e.mul(e.policyEmbedded, e.x, &h.embedding, rows, h.act)
	if h.stack != nil {
		e.encode(h.stack, e.policyStack, e.policyEmbedded, n)
	}
	e.mul(e.policyQK, e.policyEmbedded, &h.qk, rows, kernel.None)
	for i := range n {
		qk, prior := e.policyQK[i*encoding.NumSquares*2*h.units:], b.PriorOf(first+i)
		keys := kernel.Stored{F32: qk[h.units:]}
		clear(prior)
		for j, idx := range b.LegalOf(first + i) {
			at := int(h.moves[idx])
			from, to := at/encoding.NumSquares, at%encoding.NumSquares
			piece := -1
			if promotion := at - encoding.NumSquares*encoding.NumSquares; promotion >= 0 {
				from, to, piece = 48+promotion/24, 56+promotion/3%8, promotion%3
			}
			dot := prior[j:][:1]
			kernel.RowDots(dot, qk[from*2*h.units:][:h.units], keys, 2*h.units, []uint16{uint16(to)})
			if piece >= 0 {
				kernel.RowDots(dot, h.promotion[piece*h.units:][:h.units], keys, 2*h.units, []uint16{uint16(to)})
				kernel.RowDots(dot, h.promotion[3*h.units:][:h.units], keys, 2*h.units, []uint16{uint16(to)})
			}
		}
	}
}
