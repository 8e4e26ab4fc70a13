package train

import (
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// embeddingLayer is the first block of an attention net. As in encoders, the backward
// pass computes again what it needs.
type embeddingLayer struct {
	e         *engine
	men       *conv // of a dense embedding, else nil, as all of these three
	ln1, ln2  *layerNorm
	ffn       *feedForward
	fc        *conv
	gates     *gates    // nil without
	squareMap []float32 // [64][64]
	y         []float32
	wg        *weightGrads
}

func newEmbeddingLayer(e *engine, a nn.Arch) *embeddingLayer {
	b := a.Blocks[0]
	l := &embeddingLayer{e: e, fc: newSquares(e, "input.fc"), y: make([]float32, e.capacity*squares*b.Width)}
	l.wg = newWeightGrads(e, l.fc)
	if b.Kind == nn.BlockDenseEmbedding {
		l.men, l.ffn = newConv(e, "input.men", 0, true).inHalf(), newFeedForward(e, "input", b)
		l.ln1, l.ln2 = newLayerNorm(e, "input.ln1", inner), newLayerNorm(e, "input.ln2", a.BodyResidual())
		l.wg.layers(l.men, l.ffn.in, l.ffn.out)
		l.wg.add(append(l.ln1.params(), l.ln2.params()...)...)
	} else {
		for sq := range squares {
			row := encoding.SquareMap(sq)
			l.squareMap = append(l.squareMap, row[:]...)
		}
	}
	if e.param("input.gate.gamma") >= 0 {
		l.gates = newGates(e, b.Width)
		l.wg.add(l.gates.gamma, l.gates.beta)
	}
	return l
}

func (l *embeddingLayer) name() string  { return "input" }
func (l *embeddingLayer) params() []int { return l.wg.params }

type embeddingPass struct {
	men, in, pre, act, norm, gated []float32
	ffn                            feedForwardPass
}

// compute takes a group to the embedding, of which a dense one lacks the last norm.
func (l *embeddingLayer) compute(g span, w *workspace) (p embeddingPass) {
	planes := w.take(g.n * squares * encoding.NumPlanes)
	kernel.ExpandInput(planes, l.e.batch.Masks[g.lo:], l.e.batch.Scalars[g.lo:], g.n)
	said := l.squareMap
	if l.men != nil {
		p.men = w.take(g.n * squares * encoding.MenPlanes)
		for i := range g.n * squares {
			copy(p.men[i*encoding.MenPlanes:][:encoding.MenPlanes], planes[i*encoding.NumPlanes:])
		}
		said = l.men.on(g, w, p.men)
	}
	inputs := l.fc.ci
	n := inputs - encoding.NumPlanes
	p.in = w.take(g.n * squares * inputs)
	for i := range g.n * squares {
		row := p.in[i*inputs:][:inputs]
		copy(row, planes[i*encoding.NumPlanes:][:encoding.NumPlanes])
		copy(row[encoding.NumPlanes:], said[i*n%len(said):][:n])
	}
	p.pre = l.fc.on(g, w, p.in)
	p.act = w.take(len(p.pre))
	l.e.act.Forward(p.act, p.pre)
	p.norm = p.act
	if l.ln1 != nil {
		p.norm = w.take(len(p.act))
		l.ln1.forward(p.norm, p.act, nil)
	}
	p.gated = p.norm
	if l.gates != nil {
		p.gated = w.take(len(p.norm))
		l.gates.forward(p.gated, p.norm)
	}
	if l.ffn != nil {
		p.ffn = l.ffn.compute(g, w, p.gated)
	}
	return p
}

// forward returns the embedding [capacity][64][width] of the engine's batch.
func (l *embeddingLayer) forward([]float32) []float32 {
	l.e.run(phase{group: func(g span, _ int) {
		p, y := l.compute(g, l.e.workspace(g)), g.rows(l.y, squares*l.fc.co)
		if l.ffn == nil {
			copy(y, p.gated)
			return
		}
		l.ln2.forward(y, p.ffn.y, p.gated)
	}})
	return l.y
}

// backward sets the gradients of the parameters; the input has none.
func (l *embeddingLayer) backward(_, _, dy []float32) []float32 {
	l.e.open(l.wg)
	l.e.run(phase{
		begin: func(s span) {
			l.wg.reset(s)
			l.gates.begin(s)
		},
		group: func(g span, _ int) { l.back(g, g.rows(dy, squares*l.fc.co)) },
		end:   func(s span) { l.gates.end(s, l.wg) },
	})
	l.wg.reduce()
	l.e.finish()
	return dy
}

// back is backward on a group's rows.
func (l *embeddingLayer) back(g span, d []float32) {
	w := l.e.workspace(g)
	p := l.compute(g, w)
	if l.ffn != nil {
		du := w.take(len(d))
		l.ln2.backward(g, l.wg, du, d, d, p.ffn.y, p.gated)
		kernel.Add(d, d, l.ffn.back(g, w, l.wg, p.gated, p.ffn, du))
	}
	if l.gates != nil {
		l.gates.backward(g, d, p.norm)
	}
	if l.ln1 != nil {
		l.ln1.backward(g, l.wg, d, d, d, p.act, nil)
	}
	l.e.act.Backward(d, p.act, p.pre)
	if l.men == nil { // inputs have no gradient
		l.fc.weightGrad(g, 0, l.wg, p.in, d)
		return
	}
	dIn := l.fc.back(g, w, l.wg, p.in, d)
	n := l.fc.ci - encoding.NumPlanes
	dSaid := w.take(g.n * squares * n)
	for i := range g.n * squares {
		copy(dSaid[i*n:][:n], dIn[i*l.fc.ci+encoding.NumPlanes:])
	}
	l.men.weightGrad(g, 0, l.wg, p.men, dSaid)
}
