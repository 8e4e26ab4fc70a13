package cuda

import (
	"cmp"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// attentionLimit is the most boards that an attention net takes at once: smolgen's part of
// the logits alone is 8 KiB a head and board.
const attentionLimit = 256

// attentionBody is the body of an attention net.
type attentionBody struct {
	said     part  // T [64][64], encoding.SquareMap; none where the men say it
	men      layer // taps are 0 without
	fc       layer
	width    int // of what is said to a square
	norm     norm
	mul, add part        // gates, [64][width]
	ffn      feedForward // where the men say it
	stack    encoderStack
}

// norm is a layer norm over so many columns, which it puts in groups.
type norm struct {
	gamma, beta part
	real, group int
}

var noNorm = norm{gamma: none, beta: none}

// feedForward is two layers on each square and the norm of their sum with the input.
type feedForward struct {
	in, out layer
	act     int32
	norm    norm
}

// encoder is attention and a feedForward; compress.taps is 0 without smolgen.
type encoder struct {
	qkv, out           layer
	norm               norm
	ffn                feedForward
	compress, fc1, fc2 layer
	norm1, norm2       norm
	act                int32
}

// encoderStack is encoders one after the other, all of the same sizes.
type encoderStack struct {
	encoders       []encoder
	heads, depth   int
	scale, epsilon float32
	smolgen        layer // a head's units to 64*64 logits
}

// attentionPolicy is an attention policy head; stack has no encoders where it has none.
type attentionPolicy struct {
	embedding, qk     layer
	act               int32
	promotion, places part
	stack             encoderStack
}

// squares packs a fully connected layer on each square.
func (n *layeredNet) squares(d nn.Dense) layer {
	return n.conv(&nn.Conv{Ci: d.In, Co: d.Out, K: 1, Weight: d.Weight, Bias: d.Bias})
}

// row packs a fully connected layer of a board.
func (n *layeredNet) row(d nn.Dense) layer { return n.dense(d.Weight, d.Bias, d.Out, d.In) }

// stackedSquares packs layers of one input as one, the outputs of each padded.
func (n *layeredNet) stackedSquares(layers ...nn.Dense) layer {
	all := nn.Dense{In: layers[0].In}
	for _, d := range layers {
		wide := kernels.Pad(d.Out)
		all.Out += wide
		all.Weight, all.Bias = append(all.Weight, padded(d.Weight, wide*d.In)...), append(all.Bias, padded(d.Bias, wide)...)
	}
	return n.squares(all)
}

// spread returns groups of v with zeros between them, so that each has wide numbers.
func spread(v []float32, group, wide int) []float32 {
	if v == nil {
		return nil
	}
	out := make([]float32, 0, len(v)/group*wide)
	for g := range slices.Chunk(v, group) {
		out = append(out, padded(g, wide)...)
	}
	return out
}

func (n *layeredNet) norm(from *nn.Net, name string) norm {
	gamma, beta := from.Get(name+".gamma"), from.Get(name+".beta")
	return norm{n.blob.floats(gamma), n.blob.floats(beta), len(gamma), len(gamma)}
}

func (n *layeredNet) feedForward(from *nn.Net, name, normName string, b nn.Block) feedForward {
	return feedForward{n.squares(from.Dense(name + ".ffn1")), n.squares(from.Dense(name + ".ffn2")), activation(b.HiddenActivation), n.norm(from, name+"."+normName)}
}

// packAttention adds the body of an attention net.
func (n *layeredNet) packAttention(from *nn.Net) *attentionBody {
	first := from.Arch.Blocks[0]
	b := &attentionBody{said: none, width: encoding.NumSquares, norm: norm{none, none, first.Width, first.Width}, mul: none, add: none}
	b.fc = n.squares(from.Dense("input.fc"))
	if first.Kind == nn.BlockDenseEmbedding {
		b.width = first.Positions
		b.men = n.row(from.Dense("input.men"))
		b.norm, b.ffn = n.norm(from, "input.ln1"), n.feedForward(from, "input", "ln2", first)
	} else {
		var said []float32
		for sq := range encoding.NumSquares {
			row := encoding.SquareMap(sq)
			said = append(said, row[:]...)
		}
		b.said = n.blob.add(stored(n.typ, said))
	}
	if first.Gated > 0 {
		b.mul, b.add = n.blob.floats(bySquare(from.Get("input.gate.gamma"))), n.blob.floats(bySquare(from.Get("input.gate.beta")))
	}
	b.stack = n.packStack(from, nn.BlockName, 1, from.Arch.Blocks[1:], from.Arch.BodyResidual())
	return b
}

// bySquare turns gates [width][64] to [64][width].
func bySquare(gates []float32) []float32 { return transposed(gates, encoding.NumSquares) }

// transposed returns rows of so many columns as columns.
func transposed(rows []float32, columns int) []float32 {
	n := len(rows) / columns
	out := make([]float32, len(rows))
	for i, x := range rows {
		out[i%columns*n+i/columns] = x
	}
	return out
}

// packStack adds encoders, whose parameters' names begin with name(first) and so on.
func (n *layeredNet) packStack(from *nn.Net, name func(int) string, first int, blocks []nn.Block, r nn.Residual) encoderStack {
	s := encoderStack{heads: blocks[0].Heads, depth: blocks[0].HeadWidth, scale: float32(r.Scale), epsilon: float32(r.Epsilon)}
	for i, b := range blocks {
		name := name(first + i)
		e := encoder{
			qkv: n.stackedSquares(from.Dense(name+".q"), from.Dense(name+".k"), from.Dense(name+".v")),
			out: n.squares(from.Dense(name + ".out")), norm: n.norm(from, name+".ln1"), ffn: n.feedForward(from, name, "ln2", b),
		}
		if b.Kind == nn.BlockSmolgen {
			name += ".smolgen"
			e.compress = n.squares(from.Dense(name + ".compress"))
			fc1 := from.Dense(name + ".fc1")
			fc1.Weight, fc1.In = spread(fc1.Weight, b.Compressed, e.compress.co), encoding.NumSquares*e.compress.co
			e.fc1, e.fc2 = n.row(fc1), n.row(from.Dense(name+".fc2"))
			e.norm1, e.norm2, e.act = n.norm(from, name+".ln1"), n.norm(from, name+".ln2"), activation(b.SmolgenActivation)
			e.norm2.group = b.SmolgenUnits
		}
		s.encoders = append(s.encoders, e)
	}
	if s.hasSmolgen() {
		s.smolgen = n.row(from.Dense("smolgen"))
		s.smolgen.perBoard = s.heads
	}
	return s
}

func (s *encoderStack) hasSmolgen() bool {
	return len(s.encoders) > 0 && s.encoders[0].compress.taps > 0
}

// packAttentionPolicy adds an attention policy head, whose layers are nn.Fold's.
func (n *layeredNet) packAttentionPolicy(from *nn.Net, h nn.Head, l nn.Layers) *attentionPolicy {
	units := l.Dense[1].Out
	p := &attentionPolicy{
		embedding: n.squares(l.Dense[0]), act: activation(from.Arch.PolicyActivation()),
		qk: n.stackedSquares(l.Dense[1].Scaled(1/math.Sqrt(float64(units))), l.Dense[2]), places: n.blob.add(bytesOf(encoding.AttentionPolicyIndex()[:])),
	}
	rows := l.Dense[3].Weight // queen, rook, bishop, all
	var promotions []float32
	for i, x := range rows[:3*units] {
		promotions = append(promotions, x+rows[3*units+i%units])
	}
	p.promotion = n.blob.floats(spread(promotions, units, kernels.Pad(units)))
	if h.Encoders > 0 {
		p.stack = n.packStack(from, h.EncoderName, 0, slices.Repeat([]nn.Block{from.Arch.PolicyEncoder(h)}, h.Encoders), nn.PolicyResidual())
	}
	return p
}

// attentionWork is where the activations of attention lie, T: of the embedding, of the
// stacks, which take turns, and of the policy.
type attentionWork struct {
	input, men, said                        driver.Ptr
	y, hidden, qkv, seen                    driver.Ptr
	compressed, smolgen1, smolgen2, grouped driver.Ptr
	smolgen                                 driver.Ptr
	policy, policyQK                        driver.Ptr
}

// layoutAttention places them; next makes room for so many numbers a board.
func (n *layeredNet) layoutAttention(next func(elements int) driver.Ptr) (w attentionWork) {
	const squares = encoding.NumSquares
	var y, hidden, qkv, compressed, smolgen1, smolgen2, grouped, smolgen int
	need := func(s *encoderStack) {
		if len(s.encoders) == 0 {
			return
		}
		e := &s.encoders[0]
		y, hidden, qkv = max(y, e.out.co), max(hidden, e.ffn.in.co), max(qkv, e.qkv.co)
		compressed, smolgen1, smolgen2 = max(compressed, e.compress.co), max(smolgen1, e.fc1.co), max(smolgen2, e.fc2.co)
		grouped, smolgen = max(grouped, s.smolgen.ci*s.smolgen.perBoard), max(smolgen, s.smolgen.co*s.smolgen.perBoard)
	}
	if b := n.attention; b != nil {
		w.input = next(squares * b.fc.ci)
		w.men, w.said = next(squares*encoding.MenPlanes), next(b.men.co)
		hidden = b.ffn.in.co
		need(&b.stack)
	}
	if p := n.attentionPolicy; p != nil {
		need(&p.stack)
		w.policy, w.policyQK = next(squares*p.embedding.co), next(squares*p.qk.co)
	}
	w.y, w.hidden, w.qkv, w.seen = next(squares*y), next(squares*hidden), next(squares*qkv), next(squares*qkv/3)
	w.compressed, w.smolgen1, w.smolgen2, w.grouped, w.smolgen = next(squares*compressed), next(smolgen1), next(smolgen2), next(grouped), next(smolgen)
	return w
}

// finish appends the end of a layer: a, whose rows and norm it fills in.
func (k *layeredLaunches) finish(l layer, m norm, a kernels.LayerNormArgs) {
	a.Rows, a.Width, a.Real, a.Group = int32(k.boards*l.perBoard), int32(l.co), int32(cmp.Or(m.real, l.co)), int32(cmp.Or(m.group, l.co))
	a.Gamma, a.Beta = k.net.blob.at(m.gamma), k.net.blob.at(m.beta)
	k.list = append(k.list, kernels.LayerNorm(k.net.typ, a))
}

// activate appends an activation of x to y, with a norm behind it or none.
func (k *layeredLaunches) activate(l layer, m norm, x, y driver.Ptr, act int32) {
	k.finish(l, m, kernels.LayerNormArgs{X: x, Y: y, Act: act, Scale: 1, Epsilon: nn.InnerEpsilon})
}

// attend appends the body of an attention net: x is made of the planes.
func (k *layeredLaunches) attend(b *attentionBody) {
	w, t, boards := k.work, k.net.typ, int32(k.boards)
	embedding := kernels.EmbedArgs{Planes: w.planes, Said: k.net.blob.at(b.said), Y: w.attention.input, Boards: boards, SaidWidth: int32(b.width), Width: int32(b.fc.ci)}
	if b.men.taps > 0 {
		k.list = append(k.list, kernels.Men(t, kernels.MenArgs{Masks: k.io.masks, Y: w.attention.men, Boards: boards}))
		k.run(b.men, w.attention.men, kernels.ActNone, kernels.ConvArgs{Y: w.attention.said})
		embedding.Said, embedding.ByBoard = w.attention.said, 1
	}
	k.list = append(k.list, kernels.Embed(t, embedding))
	k.run(b.fc, w.attention.input, kernels.ActNone, kernels.ConvArgs{Y: w.x})
	k.finish(b.fc, b.norm, kernels.LayerNormArgs{X: w.x, Y: w.x, Mul: k.net.blob.at(b.mul), Add: k.net.blob.at(b.add), Act: k.net.act, Scale: 1, Epsilon: nn.InnerEpsilon})
	if b.men.taps > 0 {
		k.feedForward(&b.ffn, w.x, b.stack.scale, nn.InnerEpsilon)
	}
	k.encode(&b.stack, w.x)
}

// encode takes x through encoders.
func (k *layeredLaunches) encode(s *encoderStack, x driver.Ptr) {
	w, none := &k.work.attention, kernels.ActNone
	for i := range s.encoders {
		e := &s.encoders[i]
		width := e.qkv.co / 3
		attention := kernels.AttendArgs{
			Q: w.qkv, K: w.qkv.Offset(width * k.net.typ.Size()), V: w.qkv.Offset(2 * width * k.net.typ.Size()), Y: w.seen,
			Boards: int32(k.boards), Heads: int32(s.heads), Depth: int32(s.depth), Stride: int32(e.qkv.co), Width: int32(width), Scale: float32(1 / math.Sqrt(float64(s.depth))),
		}
		if s.hasSmolgen() {
			k.run(e.compress, x, none, kernels.ConvArgs{Y: w.compressed})
			k.run(e.fc1, w.compressed, none, kernels.ConvArgs{Y: w.smolgen1})
			k.activate(e.fc1, e.norm1, w.smolgen1, w.smolgen1, e.act)
			k.run(e.fc2, w.smolgen1, none, kernels.ConvArgs{Y: w.smolgen2})
			k.activate(e.fc2, e.norm2, w.smolgen2, w.grouped, e.act)
			k.run(s.smolgen, w.grouped, none, kernels.ConvArgs{Y: w.smolgen})
			attention.Extra = w.smolgen
		}
		k.run(e.qkv, x, none, kernels.ConvArgs{Y: w.qkv})
		k.list = append(k.list, kernels.Attend(k.net.typ, attention))
		k.run(e.out, w.seen, none, kernels.ConvArgs{Y: w.y})
		k.finish(e.out, e.norm, kernels.LayerNormArgs{X: w.y, Skip: x, Y: x, Scale: s.scale, Epsilon: s.epsilon})
		k.feedForward(&e.ffn, x, s.scale, s.epsilon)
	}
}

// feedForward replaces x.
func (k *layeredLaunches) feedForward(f *feedForward, x driver.Ptr, scale, epsilon float32) {
	w, act := &k.work.attention, f.act
	k.run(f.in, x, kernels.ActNone, kernels.ConvArgs{Y: w.hidden})
	if act > kernels.ActMish { // which products do not have
		k.activate(f.in, noNorm, w.hidden, w.hidden, act)
		act = kernels.ActNone
	}
	k.run(f.out, w.hidden, act, kernels.ConvArgs{Y: w.y})
	k.finish(f.out, f.norm, kernels.LayerNormArgs{X: w.y, Skip: x, Y: x, Scale: scale, Epsilon: epsilon})
}

// attentionPriors appends an attention policy of x.
func (k *layeredLaunches) attentionPriors(p *attentionPolicy) {
	w, b := &k.work.attention, k.net.blob
	k.run(p.embedding, k.work.x, kernels.ActNone, kernels.ConvArgs{Y: w.policy})
	k.activate(p.embedding, noNorm, w.policy, w.policy, p.act)
	k.encode(&p.stack, w.policy)
	k.run(p.qk, w.policy, kernels.ActNone, kernels.ConvArgs{Y: w.policyQK})
	k.list = append(k.list, kernels.AttentionPolicy(k.net.typ, kernels.AttentionPolicyArgs{
		Count: k.io.count, Qk: w.policyQK, Promotion: b.at(p.promotion), Places: b.at(p.places), Start: k.io.start, Legal: k.io.legal, Prior: k.io.prior, Width: int32(p.qk.co / 2),
	}, k.boards))
}
