package cuda

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// attentionScratch is what the backward passes of attention share: the layers ask for
// numbers a board while they are made, in the storage type but for sums.
type attentionScratch struct {
	branch, hidden, seen, q, k, v                  driver.Ptr
	extra, grouped, smolgen2, smolgen1, compressed driver.Ptr
	sums                                           driver.Ptr // [parts][2][width] of norms
	sizes                                          [11]int
	numSums                                        int
}

func (s *attentionScratch) places() [11]*driver.Ptr {
	return [...]*driver.Ptr{&s.branch, &s.hidden, &s.seen, &s.q, &s.k, &s.v, &s.extra, &s.grouped, &s.smolgen2, &s.smolgen1, &s.compressed}
}

// need asks for so many numbers a board at place.
func (s *attentionScratch) need(place *driver.Ptr, elements int) {
	for i, p := range s.places() {
		if p == place {
			s.sizes[i] = max(s.sizes[i], elements)
		}
	}
}

func (s *attentionScratch) alloc(t *Trainer) {
	for i, p := range s.places() {
		*p = t.perBoard(s.sizes[i])
	}
	s.sums = t.mem.floats(s.numSums)
}

// perBoard allocates so many numbers a board in the storage type.
func (t *Trainer) perBoard(elements int) driver.Ptr {
	return t.mem.alloc(t.cfg.Capacity * elements * t.typ.Size())
}

// layerNorm is the end of a layer: the norm of scale*act(x) + skip. Its result may stand in groups
// of columns, each padded.
type layerNorm struct {
	t              *Trainer
	gamma, beta    int // parameters; -1 of an activation alone
	real, width    int
	group          int
	act            int32
	scale, epsilon float32
	rowsPerBoard   int
}

// newLayerNorm makes the norm name, "" for none, behind a layer.
func newLayerNorm(t *Trainer, name string, of *conv, act int32, r nn.Residual) *layerNorm {
	n := &layerNorm{t: t, gamma: -1, beta: -1, real: of.co, width: of.outPad, group: of.co, act: act, scale: float32(r.Scale), epsilon: float32(r.Epsilon), rowsPerBoard: of.rowsPerBoard}
	if name != "" {
		n.gamma, n.beta = t.layout.param(name+".gamma"), t.layout.param(name+".beta")
		t.attention.numSums = max(t.attention.numSums, kernels.NormParts(t.cfg.Capacity*n.rowsPerBoard)*2*n.width)
	}
	return n
}

// inner is how norms without a skip go.
var inner = nn.Residual{Scale: 1, Epsilon: nn.InnerEpsilon}

func (n *layerNorm) forward(q *queue, boards int, x, skip, y driver.Ptr) {
	a := kernels.LayerNormArgs{
		X: x, Skip: skip, Y: y, Rows: int32(boards * n.rowsPerBoard), Width: int32(n.width), Real: int32(n.real), Group: int32(n.group),
		Act: n.act, Scale: n.scale, Epsilon: n.epsilon,
	}
	if n.gamma >= 0 {
		a.Gamma, a.Beta = n.t.layout.in(n.t.params, n.gamma), n.t.layout.in(n.t.params, n.beta)
	}
	q.do(kernels.LayerNorm(n.t.typ, a))
}

// backward takes dy to dx and, where there is a skip, to dSkip, which may be dy.
func (n *layerNorm) backward(q *queue, boards int, x, skip, dy, dx, dSkip driver.Ptr) {
	t, l := n.t, n.t.layout
	rows := boards * n.rowsPerBoard
	a := kernels.LayerNormBackwardArgs{
		X: x, Skip: skip, Dy: dy, Dx: dx, Dskip: dSkip, Rows: int32(rows), Width: int32(n.width), Real: int32(n.real), Group: int32(n.group),
		Act: n.act, Scale: n.scale, Epsilon: n.epsilon,
	}
	if n.gamma < 0 {
		q.do(kernels.LayerNormBackward(t.typ, a))
		return
	}
	a.Gamma, a.Sums = l.in(t.params, n.gamma), t.attention.sums
	q.do(kernels.LayerNormBackward(t.typ, a))
	for i, param := range []int{n.gamma, n.beta} {
		q.do(kernels.ColumnSums(kernels.F32, kernels.ColumnSumsArgs{
			X: a.Sums.Offset(4 * i * n.width), Sum: l.in(t.grads, param), Rows: int32(kernels.NormParts(rows)), Columns: int32(2 * n.width), Real: int32(n.real), Accumulate: q.accumulate,
		}))
	}
}

// trainedFeedForward is two layers on each square.
type trainedFeedForward struct {
	t              *Trainer
	in, out        *conv
	act            *layerNorm // where products do not have the activation, else nil
	fused          int32      // the activation where they have it
	pre, hidden, y driver.Ptr // hidden: with act
}

func newTrainedFeedForward(t *Trainer, name string, b nn.Block) *trainedFeedForward {
	f := &trainedFeedForward{t: t, in: newSquares(t, name+".ffn1"), out: newSquares(t, name+".ffn2"), fused: activation(b.HiddenActivation)}
	f.pre, f.y = t.activations(f.in.outPad), t.activations(f.out.outPad)
	if f.fused > kernels.ActMish {
		f.act, f.fused = newLayerNorm(t, "", f.in, f.fused, inner), kernels.ActNone
		f.hidden = t.activations(f.in.outPad)
	}
	t.attention.need(&t.attention.hidden, 64*f.in.outPad)
	t.attention.need(&t.attention.branch, 64*f.out.outPad)
	return f
}

// middle is the second layer's input.
func (f *trainedFeedForward) middle() input {
	if f.act != nil {
		return input{x: f.hidden}
	}
	return input{x: f.pre, act: f.fused}
}

func (f *trainedFeedForward) forward(q *queue, boards int, x driver.Ptr) {
	f.in.run(q, boards, input{x: x}, kernels.ConvArgs{Y: f.pre})
	if f.act != nil {
		f.act.forward(q, boards, f.pre, 0, f.hidden)
	}
	f.out.run(q, boards, f.middle(), kernels.ConvArgs{Y: f.y})
}

// backward adds the gradient of x to grad.
func (f *trainedFeedForward) backward(q *queue, boards int, x, dy, grad driver.Ptr) {
	d := f.t.attention.hidden
	f.out.weightGrad(q, boards, f.middle(), dy)
	a := kernels.ConvArgs{Y: d}
	if f.fused != kernels.ActNone {
		a.Z, a.ZAct = f.pre, f.fused
	}
	f.out.inputGrad(q, boards, dy, a)
	if f.act != nil {
		f.act.backward(q, boards, f.pre, 0, d, d, 0)
	}
	f.in.backwardTo(q, boards, x, d, grad)
}

// backwardTo sets the gradients of the weights, and adds that of the input to grad.
func (c *conv) backwardTo(q *queue, boards int, x, dz, grad driver.Ptr) {
	c.weightGrad(q, boards, input{x: x}, dz)
	c.inputGrad(q, boards, dz, kernels.ConvArgs{Y: grad, Add: grad})
}

// trainedEncoder is attention between squares and two layers on each.
type trainedEncoder struct {
	t               *Trainer
	heads, depth    int
	q, k, v, out    *conv
	ln1, ln2        *layerNorm
	ffn             *trainedFeedForward
	smolgen         *smolgen // nil: without
	qs, ks, vs      driver.Ptr
	seen, o, mid, y driver.Ptr
}

func newTrainedEncoder(t *Trainer, name string, b nn.Block, r nn.Residual) *trainedEncoder {
	e := &trainedEncoder{t: t, heads: b.Heads, depth: b.HeadWidth, q: newSquares(t, name+".q"), k: newSquares(t, name+".k"), v: newSquares(t, name+".v"), out: newSquares(t, name+".out"), ffn: newTrainedFeedForward(t, name, b)}
	e.ln1, e.ln2 = newLayerNorm(t, name+".ln1", e.out, kernels.ActNone, r), newLayerNorm(t, name+".ln2", e.ffn.out, kernels.ActNone, r)
	inner, width := e.q.outPad, e.out.outPad
	e.qs, e.ks, e.vs, e.seen = t.activations(inner), t.activations(inner), t.activations(inner), t.activations(inner)
	e.o, e.mid, e.y = t.activations(width), t.activations(width), t.activations(width)
	s := &t.attention
	for _, p := range []*driver.Ptr{&s.q, &s.k, &s.v, &s.seen} {
		s.need(p, 64*inner)
	}
	return e
}

// attend is the encoder's attention, forward.
func (e *trainedEncoder) attend(boards int) kernels.AttendArgs {
	a := kernels.AttendArgs{
		Q: e.qs, K: e.ks, V: e.vs, Y: e.seen, Boards: int32(boards), Heads: int32(e.heads), Depth: int32(e.depth),
		Stride: int32(e.q.outPad), Width: int32(e.q.outPad), Scale: float32(1 / math.Sqrt(float64(e.depth))),
	}
	if e.smolgen != nil {
		a.Extra = e.smolgen.y
	}
	return a
}

func (e *trainedEncoder) forward(q *queue, boards int, x driver.Ptr) driver.Ptr {
	if e.smolgen != nil {
		e.smolgen.forward(q, boards, x)
	}
	e.q.run(q, boards, input{x: x}, kernels.ConvArgs{Y: e.qs})
	e.k.run(q, boards, input{x: x}, kernels.ConvArgs{Y: e.ks})
	e.v.run(q, boards, input{x: x}, kernels.ConvArgs{Y: e.vs})
	q.do(kernels.Attend(e.t.typ, e.attend(boards)))
	e.out.run(q, boards, input{x: e.seen}, kernels.ConvArgs{Y: e.o})
	e.ln1.forward(q, boards, e.o, x, e.mid)
	e.ffn.forward(q, boards, e.mid)
	e.ln2.forward(q, boards, e.ffn.y, e.mid, e.y)
	return e.y
}

// backward turns grad, the gradient of the output, into that of x.
func (e *trainedEncoder) backward(q *queue, boards int, x, grad driver.Ptr) {
	s := &e.t.attention
	e.ln2.backward(q, boards, e.ffn.y, e.mid, grad, s.branch, grad)
	e.ffn.backward(q, boards, e.mid, s.branch, grad)
	e.ln1.backward(q, boards, e.o, x, grad, s.branch, grad)
	e.out.weightGrad(q, boards, input{x: e.seen}, s.branch)
	e.out.inputGrad(q, boards, s.branch, kernels.ConvArgs{Y: s.seen})
	f := e.attend(boards)
	a := kernels.AttendBackwardArgs{
		Q: f.Q, K: f.K, V: f.V, Extra: f.Extra, Dy: s.seen, Dq: s.q, Dk: s.k, Dv: s.v,
		Boards: f.Boards, Heads: f.Heads, Depth: f.Depth, Width: f.Width, Scale: f.Scale,
	}
	if e.smolgen != nil {
		a.Dextra = s.extra
	}
	q.do(kernels.AttendBackward(e.t.typ, a))
	e.q.backwardTo(q, boards, x, s.q, grad)
	e.k.backwardTo(q, boards, x, s.k, grad)
	e.v.backwardTo(q, boards, x, s.v, grad)
	if e.smolgen != nil {
		e.smolgen.backward(q, boards, x, grad)
	}
}

// smolgen is what an encoder makes of the whole position and adds to the products of queries
// and keys. All encoders share the last layer.
type smolgen struct {
	t                        *Trainer
	compress, fc1, fc2, last *conv
	ln1, ln2                 *layerNorm
	begins                   bool // its backward pass is the first
	compressed, pre1, norm1  driver.Ptr
	pre2, norm2, y           driver.Ptr
}

// newSmolgen makes that of an encoder; last is nil for the first of them.
func newSmolgen(t *Trainer, name string, b nn.Block, last *conv) *smolgen {
	s := &smolgen{t: t, compress: newSquares(t, name+".compress"), fc1: newConv(t, name+".fc1", b.Compressed, true), fc2: newConv(t, name+".fc2", 0, true), last: last}
	if last == nil {
		s.last = newLayer(t, "smolgen", 0, b.Heads, true)
	}
	s.fc1.bySquare = 1
	act := activation(b.SmolgenActivation)
	s.ln1, s.ln2 = newLayerNorm(t, name+".ln1", s.fc1, act, inner), newLayerNorm(t, name+".ln2", s.fc2, act, inner)
	s.ln2.group = b.SmolgenUnits
	grouped, y := s.last.inPad*b.Heads, s.last.outPad*b.Heads
	s.compressed, s.pre1, s.norm1 = t.activations(s.compress.outPad), t.perBoard(s.fc1.outPad), t.perBoard(s.fc1.outPad)
	s.pre2, s.norm2, s.y = t.perBoard(s.fc2.outPad), t.perBoard(grouped), t.perBoard(y)
	a := &t.attention
	a.need(&a.extra, y)
	a.need(&a.grouped, grouped)
	a.need(&a.smolgen2, s.fc2.outPad)
	a.need(&a.smolgen1, s.fc1.outPad)
	a.need(&a.compressed, 64*s.compress.outPad)
	return s
}

func (s *smolgen) forward(q *queue, boards int, x driver.Ptr) {
	s.compress.run(q, boards, input{x: x}, kernels.ConvArgs{Y: s.compressed})
	s.fc1.run(q, boards, input{x: s.compressed}, kernels.ConvArgs{Y: s.pre1})
	s.ln1.forward(q, boards, s.pre1, 0, s.norm1)
	s.fc2.run(q, boards, input{x: s.norm1}, kernels.ConvArgs{Y: s.pre2})
	s.ln2.forward(q, boards, s.pre2, 0, s.norm2)
	s.last.run(q, boards, input{x: s.norm2}, kernels.ConvArgs{Y: s.y})
}

// backward takes the gradient of y, in the scratch, to those of the weights and of x, which it
// adds to grad.
func (s *smolgen) backward(q *queue, boards int, x, grad driver.Ptr) {
	a, accumulate := &s.t.attention, q.accumulate
	if !s.begins {
		q.accumulate = 1
	}
	s.last.weightGrad(q, boards, input{x: s.norm2}, a.extra)
	q.accumulate = accumulate
	s.last.inputGrad(q, boards, a.extra, kernels.ConvArgs{Y: a.grouped})
	s.ln2.backward(q, boards, s.pre2, 0, a.grouped, a.smolgen2, 0)
	s.fc2.weightGrad(q, boards, input{x: s.norm1}, a.smolgen2)
	s.fc2.inputGrad(q, boards, a.smolgen2, kernels.ConvArgs{Y: a.smolgen1})
	s.ln1.backward(q, boards, s.pre1, 0, a.smolgen1, a.smolgen1, 0)
	s.fc1.weightGrad(q, boards, input{x: s.compressed}, a.smolgen1)
	s.fc1.inputGrad(q, boards, a.smolgen1, kernels.ConvArgs{Y: a.compressed})
	s.compress.backwardTo(q, boards, x, a.compressed, grad)
}

// trainedAttentionBody is an embedding and encoders.
type trainedAttentionBody struct {
	t           *Trainer
	men         *conv // of a dense embedding, else nil, as ln1, ln2 and ffn
	menRows     driver.Ptr
	said        driver.Ptr // [64][64], or what the men say
	positions   int
	in, dIn     driver.Ptr
	fc          *conv
	pre, act    driver.Ptr
	ln1, ln2    *layerNorm
	gamma, beta int // gates; -1 without
	gated       driver.Ptr
	ffn         *trainedFeedForward
	y           driver.Ptr
	encoders    []*trainedEncoder
}

func newAttentionBody(t *Trainer) *trainedAttentionBody {
	const squares = encoding.NumSquares
	arch := t.cfg.Arch
	first := arch.Blocks[0]
	b := &trainedAttentionBody{t: t, positions: squares, fc: newSquares(t, "input.fc"), gamma: t.layout.param("input.gate.gamma"), beta: t.layout.param("input.gate.beta")}
	b.in = t.activations(b.fc.inPad)
	b.pre, b.act = t.activations(b.fc.outPad), t.activations(b.fc.outPad)
	b.y = b.act
	norm := ""
	if first.Kind == nn.BlockDenseEmbedding {
		norm = "input.ln1"
		b.positions = first.Positions
		b.men = newConv(t, "input.men", 0, false)
		b.menRows, b.said, b.dIn = t.perBoard(squares*encoding.MenPlanes), t.perBoard(b.men.outPad), t.activations(b.fc.inPad)
	} else {
		var said []float32
		for sq := range squares {
			row := encoding.SquareMap(sq)
			said = append(said, row[:]...)
		}
		b.said = t.constant(stored(t.typ, said))
	}
	b.ln1 = newLayerNorm(t, norm, b.fc, t.act, inner)
	if b.gamma >= 0 {
		b.gated = t.activations(b.fc.outPad)
		b.y = b.gated
	}
	if b.men != nil {
		b.ffn = newTrainedFeedForward(t, "input", first)
		b.ln2 = newLayerNorm(t, "input.ln2", b.ffn.out, kernels.ActNone, arch.BodyResidual())
		b.y = t.activations(b.fc.outPad)
	}
	var last *conv
	for i, block := range arch.Blocks[1:] {
		e := newTrainedEncoder(t, nn.BlockName(1+i), block, arch.BodyResidual())
		if block.Kind == nn.BlockSmolgen {
			e.smolgen = newSmolgen(t, nn.BlockName(1+i)+".smolgen", block, last)
			e.smolgen.begins = i == len(arch.Blocks)-2
			last = e.smolgen.last
		}
		b.encoders = append(b.encoders, e)
	}
	return b
}

// embedded is the input of what comes behind the gates.
func (b *trainedAttentionBody) embedded() driver.Ptr {
	if b.gamma >= 0 {
		return b.gated
	}
	return b.act
}

func (b *trainedAttentionBody) forward(q *queue, boards int) driver.Ptr {
	t, l := b.t, b.t.layout
	e := kernels.EmbedArgs{Planes: t.planes, Said: b.said, Y: b.in, Boards: int32(boards), SaidWidth: int32(b.positions), Width: int32(b.fc.inPad)}
	if b.men != nil {
		q.do(kernels.Men(t.typ, kernels.MenArgs{Masks: q.slot.part(partMasks), Y: b.menRows, Boards: int32(boards)}))
		b.men.run(q, boards, input{x: b.menRows}, kernels.ConvArgs{Y: b.said})
		e.ByBoard = 1
	}
	q.do(kernels.Embed(t.typ, e))
	b.fc.run(q, boards, input{x: b.in}, kernels.ConvArgs{Y: b.pre})
	b.ln1.forward(q, boards, b.pre, 0, b.act)
	if b.gamma >= 0 {
		q.do(kernels.LayerNorm(t.typ, kernels.LayerNormArgs{
			X: b.act, Y: b.gated, Mul: l.in(t.params, b.gamma), Add: l.in(t.params, b.beta),
			Rows: int32(boards * 64), Width: int32(b.fc.outPad), Real: int32(b.fc.co), Group: int32(b.fc.co), Scale: 1,
		}))
	}
	if b.ffn != nil {
		b.ffn.forward(q, boards, b.embedded())
		b.ln2.forward(q, boards, b.ffn.y, b.embedded(), b.y)
	}
	x := b.y
	for _, e := range b.encoders {
		x = e.forward(q, boards, x)
	}
	return x
}

func (b *trainedAttentionBody) backward(q *queue, boards int) {
	t, l := b.t, b.t.layout
	for i := len(b.encoders) - 1; i >= 0; i-- {
		x := b.y
		if i > 0 {
			x = b.encoders[i-1].y
		}
		b.encoders[i].backward(q, boards, x, t.grad)
	}
	if b.ffn != nil {
		b.ln2.backward(q, boards, b.ffn.y, b.embedded(), t.grad, t.attention.branch, t.grad)
		b.ffn.backward(q, boards, b.embedded(), t.attention.branch, t.grad)
	}
	if b.gamma >= 0 {
		q.do(kernels.GateBackward(t.typ, kernels.GateBackwardArgs{
			X: b.act, Dy: t.grad, Dx: t.grad, Mul: l.in(t.params, b.gamma), Dmul: l.in(t.grads, b.gamma), Dadd: l.in(t.grads, b.beta),
			Boards: int32(boards), Width: int32(b.fc.outPad), Real: int32(b.fc.co), Accumulate: q.accumulate,
		}))
	}
	b.ln1.backward(q, boards, b.pre, 0, t.grad, t.grad, 0)
	b.fc.weightGrad(q, boards, input{x: b.in}, t.grad)
	if b.men == nil {
		return
	}
	b.fc.inputGrad(q, boards, t.grad, kernels.ConvArgs{Y: b.dIn})
	q.do(kernels.SaidGradient(t.typ, kernels.SaidGradientArgs{Dy: b.dIn, Dsaid: b.said, Boards: int32(boards), SaidWidth: int32(b.positions), Width: int32(b.fc.inPad)}))
	b.men.weightGrad(q, boards, input{x: b.menRows}, b.said)
}

// attentionHead is an attention policy head.
type attentionHead struct {
	policyLoss
	embedding, q, k, promotion *conv
	act                        *layerNorm
	encoders                   []*trainedEncoder
	pre, x, qs, ks             driver.Ptr
	more                       driver.Ptr // fp32 [capacity*64][16]: what promotions add
	grad, dq, dk, dMore        driver.Ptr
}

func newAttentionHead(t *Trainer, of *nn.Head, terms []headTerm) *attentionHead {
	name := of.Prefix()
	h := &attentionHead{embedding: newSquares(t, name+".embedding"), q: newSquares(t, name+".q"), k: newSquares(t, name+".k"), promotion: newSquares(t, name+".promotion")}
	h.act = newLayerNorm(t, "", h.embedding, activation(t.cfg.Arch.PolicyActivation()), inner)
	for i := range of.Encoders {
		h.encoders = append(h.encoders, newTrainedEncoder(t, of.EncoderName(i), t.cfg.Arch.PolicyEncoder(*of), nn.PolicyResidual()))
	}
	width, units := h.embedding.outPad, h.q.outPad
	h.pre, h.x, h.grad = t.activations(width), t.activations(width), t.activations(width)
	h.qs, h.ks, h.dq, h.dk = t.activations(units), t.activations(units), t.activations(units), t.activations(units)
	h.more, h.dMore = t.mem.floats(t.cfg.Capacity*64*h.promotion.outPad), t.activations(h.promotion.outPad)
	h.policyLoss = newPolicyLoss(t, of, terms, encoding.NumAttention, encoding.AttentionPolicyIndex()[:])
	return h
}

func (h *attentionHead) scale() float32 { return float32(1 / math.Sqrt(float64(h.q.co))) }

// last is the input of queries and keys.
func (h *attentionHead) last() driver.Ptr {
	if n := len(h.encoders); n > 0 {
		return h.encoders[n-1].y
	}
	return h.x
}

func (h *attentionHead) forward(q *queue, boards int, x driver.Ptr) {
	h.embedding.run(q, boards, input{x: x}, kernels.ConvArgs{Y: h.pre})
	h.act.forward(q, boards, h.pre, 0, h.x)
	y := h.x
	for _, e := range h.encoders {
		y = e.forward(q, boards, y)
	}
	h.q.run(q, boards, input{x: y}, kernels.ConvArgs{Y: h.qs})
	h.k.run(q, boards, input{x: y}, kernels.ConvArgs{Y: h.ks})
	h.promotion.run(q, boards, input{x: h.ks}, kernels.ConvArgs{Y32: h.more})
	q.do(kernels.AttentionLogits(h.t.typ, kernels.AttentionLogitsArgs{Q: h.qs, K: h.ks, More: h.more, Y: h.logits, Boards: int32(boards), Width: int32(h.q.outPad), Scale: h.scale()}))
	h.lose(q)
}

func (h *attentionHead) backward(q *queue, boards int, x driver.Ptr, add bool) {
	t := h.t
	q.do(kernels.AttentionLogitsBackward(t.typ, kernels.AttentionLogitsBackwardArgs{
		Q: h.qs, K: h.ks, Dy: h.dlogits, Dq: h.dq, Dk: h.dk, Dmore: h.dMore, Boards: int32(boards), Width: int32(h.q.outPad), Scale: h.scale(),
	}))
	h.promotion.backwardTo(q, boards, h.ks, h.dMore, h.dk)
	h.q.weightGrad(q, boards, input{x: h.last()}, h.dq)
	h.q.inputGrad(q, boards, h.dq, kernels.ConvArgs{Y: h.grad})
	h.k.backwardTo(q, boards, h.last(), h.dk, h.grad)
	for i := len(h.encoders) - 1; i >= 0; i-- {
		below := h.x
		if i > 0 {
			below = h.encoders[i-1].y
		}
		h.encoders[i].backward(q, boards, below, h.grad)
	}
	h.act.backward(q, boards, h.pre, 0, h.grad, h.grad, 0)
	h.embedding.weightGrad(q, boards, input{x: x}, h.grad)
	a := kernels.ConvArgs{Y: t.grad}
	if add {
		a.Add = t.grad
	}
	h.embedding.inputGrad(q, boards, h.grad, a)
}
