package train

import (
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// encoder is attention between squares and two layers on each, with a norm behind the sum
// of either and its input.
type encoder struct {
	qkv       *joint // queries, keys and values
	out       *conv
	attention attention
	smolgen   *smolgen // nil without
	ln1, ln2  *layerNorm
	ffn       *feedForward
}

// encoderLayer is an encoder of the body. Its input is kept for the backward pass, which
// computes the rest again while it is in the cache, but for the attention weights where
// they need a smolgen.
type encoderLayer struct {
	encoder
	e       *engine
	label   string
	first   bool          // the first encoder with smolgen, which has the shared weights
	y       []float32     // [capacity][64][width]
	weights kernel.Stored // [capacity][heads][64][64] with smolgen, bf16 where products are
	wg      *weightGrads
}

// newSquares is newConv of a layer on each square.
func newSquares(e *engine, prefix string) *conv {
	c := newConv(e, prefix, 0, true).inHalf()
	c.perBoard = squares
	return c
}

func newEncoder(e *engine, name string, b nn.Block, r nn.Residual) encoder {
	a := attention{b.Heads, b.HeadWidth}
	return encoder{
		attention: a, qkv: newJoint(e, a.scale(), name+".q", name+".k", name+".v"), out: newSquares(e, name+".out"),
		ln1: newLayerNorm(e, name+".ln1", r), ln2: newLayerNorm(e, name+".ln2", r), ffn: newFeedForward(e, name, b),
	}
}

// addTo adds all parameters but those of smolgen.
func (l *encoder) addTo(wg *weightGrads) {
	l.qkv.addTo(wg)
	wg.layers(l.out, l.ffn.in, l.ffn.out)
	wg.add(append(l.ln1.params(), l.ln2.params()...)...)
}

// newEncoderLayer makes block i; the first of them, if it is not nil, has the weights that
// all smolgens share.
func newEncoderLayer(e *engine, a nn.Arch, i int, first *encoderLayer) *encoderLayer {
	b, name := a.Blocks[i], nn.BlockName(i)
	l := &encoderLayer{encoder: newEncoder(e, name, b, a.BodyResidual()), e: e, label: name,
		y: make([]float32, e.capacity*squares*a.Width()), wg: newWeightGrads(e)}
	l.addTo(l.wg)
	if b.Kind == nn.BlockSmolgen {
		var shared *smolgen
		if l.first = first == nil; !l.first {
			shared = first.smolgen
		}
		l.smolgen = newSmolgen(e, name+".smolgen", b, shared, i == len(a.Blocks)-1)
		l.weights = kernel.NewStored(e.capacity*l.attention.pairs(), l.smolgen.global.half)
		l.wg.layers(l.smolgen.compress, l.smolgen.fc1, l.smolgen.fc2)
		l.wg.add(append(l.smolgen.ln1.params(), l.smolgen.ln2.params()...)...)
		if l.first {
			l.wg.addOwn(l.smolgen.global.weight, l.smolgen.shared)
		}
	}
	return l
}

func (l *encoderLayer) name() string  { return l.label }
func (l *encoderLayer) params() []int { return l.wg.params }

// encoderPass is what the forward pass computes of a group.
type encoderPass struct {
	qkv, seen, o, mid []float32
	weights           weightsPass
	ffn               feedForwardPass
}

// compute takes x, a group's rows, to the sum before the last norm. What is added to the
// products, extra, may be nil; weights that are known are not computed.
func (l *encoder) compute(g span, w *workspace, x, extra []float32, kept kernel.Stored, known bool) (p encoderPass) {
	a := l.attention
	inner := a.inner()
	p.qkv = l.qkv.on(g, w, x)
	p.seen, p.weights = w.take(g.n*inner), a.newWeightsPass(g, w, kept)
	scratch := w.take(kernel.AttendScratchLen(a.depth))
	for i := range g.n {
		seen, qkv := board(p.seen, i, inner), board(p.qkv, i, a.width())
		if known {
			a.see(scratch, p.weights.of(i), seen, qkv)
			continue
		}
		var added []float32
		if extra != nil {
			added = board(extra, i, a.pairs())
		}
		a.forward(scratch, p.weights.to(i), seen, qkv, added)
		p.weights.keep(i)
	}
	p.o = l.out.on(g, w, p.seen)
	p.mid = w.take(len(x))
	l.ln1.forward(p.mid, p.o, x)
	p.ffn = l.ffn.compute(g, w, p.mid)
	return p
}

// board is board i's part of x.
func board(x []float32, i, width int) []float32 { return x[i*width:][:width] }

// forward returns the layer's output for x, both [capacity][64][width].
func (l *encoderLayer) forward(x []float32) []float32 {
	width := squares * l.ln1.c
	p := phase{}
	if l.smolgen != nil {
		l.e.complete()
		p.begin = func(s span) { l.smolgen.compute(s, s.rows(x, width)) }
	}
	p.group = func(g span, at int) {
		w, x := l.e.workspace(g), g.rows(x, width)
		var extra []float32
		if l.smolgen != nil {
			extra = l.smolgen.extra(g, at, w)
		}
		p := l.compute(g, w, x, extra, l.weights, false)
		l.ln2.forward(g.rows(l.y, width), p.ffn.y, p.mid)
	}
	l.e.run(p)
	return l.y
}

// backward sets the gradients of the parameters and turns dy into that of x.
func (l *encoderLayer) backward(x, _, dy []float32) []float32 {
	width := squares * l.ln1.c
	l.e.complete()
	l.e.open(l.wg)
	l.e.run(phase{
		begin: func(s span) {
			l.wg.reset(s)
			if l.smolgen != nil {
				l.smolgen.begin(s, s.rows(x, width))
			}
		},
		group: func(g span, at int) {
			w, x := l.e.workspace(g), g.rows(x, width)
			var dExtra []float32
			if l.smolgen != nil {
				dExtra = l.smolgen.extraGrad(g, at)
			}
			p := l.compute(g, w, x, nil, l.weights, l.smolgen != nil)
			l.back(g, w, l.wg, x, p, g.rows(dy, width), dExtra)
		},
		end: func(s span) {
			if l.smolgen != nil {
				l.smolgen.back(s, l.wg, s.rows(x, width), s.rows(dy, width))
			}
		},
	})
	l.wg.reduce()
	return dy
}

// back turns d, the gradient of a group's outputs, into that of x, of which p was
// computed. dExtra, if not nil, takes that of what was added to the products.
func (l *encoder) back(g span, w *workspace, wg *weightGrads, x []float32, p encoderPass, d, dExtra []float32) {
	du := w.take(len(d))
	l.ln2.backward(g, wg, du, d, d, p.ffn.y, p.mid)
	kernel.Add(d, d, l.ffn.back(g, w, wg, p.mid, p.ffn, du))
	do := w.take(len(d))
	l.ln1.backward(g, wg, do, d, d, p.o, x)
	dSeen := l.out.back(g, w, wg, p.seen, do)

	a := l.attention
	inner, pairs, width := a.inner(), a.pairs(), a.width()
	dQKV := w.take(len(p.qkv))
	scratch, spare := w.take(kernel.AttendScratchLen(a.depth)), w.take(pairs)
	for i := range g.n {
		to := spare
		if dExtra != nil {
			to = board(dExtra, i, pairs)
		}
		a.backward(scratch, board(dQKV, i, width), to, p.weights.of(i), board(p.qkv, i, width), board(dSeen, i, inner))
	}
	kernel.Add(d, d, l.qkv.back(g, w, wg, x, dQKV))
}

// feedForward is two layers on each square.
type feedForward struct {
	in, out *conv
	act     kernel.Act
}

func newFeedForward(e *engine, name string, b nn.Block) *feedForward {
	return &feedForward{in: newSquares(e, name+".ffn1"), out: newSquares(e, name+".ffn2"), act: kernel.ActOf(b.HiddenActivation)}
}

type feedForwardPass struct{ pre, hidden, y []float32 }

func (f *feedForward) compute(g span, w *workspace, x []float32) (p feedForwardPass) {
	p.pre = f.in.on(g, w, x)
	p.hidden = w.take(len(p.pre))
	f.act.Forward(p.hidden, p.pre)
	p.y = f.out.on(g, w, p.hidden)
	return p
}

// back returns the gradient of x.
func (f *feedForward) back(g span, w *workspace, wg *weightGrads, x []float32, p feedForwardPass, dy []float32) []float32 {
	d := f.out.back(g, w, wg, p.hidden, dy)
	f.act.Backward(d, p.hidden, p.pre)
	return f.in.back(g, w, wg, x, d)
}
