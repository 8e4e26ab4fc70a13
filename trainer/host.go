package trainer

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// host trains on the CPU: the engine and the graph share the memory of the
// trainer's net.
type host struct {
	cfg    *Config
	e      *engine
	g      *graph
	terms  []*term // in the order of cfg.Losses, nil for L2
	policy *policyHead
	opt    Optimizer
	net    [][]float32 // the trainer's, in the order of Specs
	swa    *swaAverage
	model  []gorgonia.ValueGrad // trained parameters, in the order of Specs
	acc    []*accumulator       // the same
}

// accumulator is a trained parameter and the sum of its gradients over the
// micro-batches of a step. It is a gorgonia.ValueGrad.
type accumulator struct {
	*param
	sum          []float32
	value, total *tensor.Dense
}

func (a *accumulator) Value() gorgonia.Value         { return a.value }
func (a *accumulator) Grad() (gorgonia.Value, error) { return a.total, nil }

// newHost makes the layers, the graph and the optimizer of t, and the workers.
func newHost(t *Trainer, p kernel.Precision) (*host, error) {
	h := &host{cfg: &t.cfg, net: t.paramData(), swa: &t.swa}
	h.e = newEngine(t.net, t.cfg.BatchSize, t.cfg.numWorkers(), t.cfg.BNMomentum, p)
	layers := []towerLayer{newInputLayer(h.e)}
	for i := range t.net.Arch.Blocks {
		layers = append(layers, newBlockLayer(h.e, i))
	}
	var err error
	if h.g, err = newGraph(h.e, layers, h.buildHeads(valueKind(t.net.Arch))); err != nil {
		h.e.pool.close()
		return nil, err
	}
	for i := range h.e.params {
		p := &h.e.params[i]
		if p.grad == nil {
			continue
		}
		sum := make([]float32, len(p.data))
		a := &accumulator{param: p, sum: sum,
			value: tensor.New(tensor.WithShape(p.spec.Shape...), tensor.WithBacking(p.data)),
			total: tensor.New(tensor.WithShape(p.spec.Shape...), tensor.WithBacking(sum))}
		h.acc, h.model = append(h.acc, a), append(h.model, a)
	}
	h.opt = t.newOptimizer(h.e.pool.run)
	return h, nil
}

// buildHeads makes the heads that have losses and fills terms.
func (h *host) buildHeads(value LossKind) []headLayer {
	byHead := map[Head][]Loss{}
	for _, l := range h.cfg.Losses {
		byHead[l.Head] = append(byHead[l.Head], l)
	}
	var heads []headLayer
	terms := map[Head][]*term{}
	if l := byHead[HeadPolicy]; l != nil {
		h.policy = newPolicyHead(h.e, l)
		heads, terms[HeadPolicy] = append(heads, h.policy), h.policy.terms
	}
	if l := byHead[HeadValue]; l != nil {
		loss := wdlRowLoss
		if value == MSE {
			loss = scalarRowLoss
		}
		s := newScalarHead(h.e, string(HeadValue), l, loss)
		heads, terms[HeadValue] = append(heads, s), s.terms
	}
	if l := byHead[HeadMovesLeft]; l != nil {
		s := newScalarHead(h.e, string(HeadMovesLeft), l, func(dz, z []float32, q encoding.QDM, scale float32) (rowLoss, bool) {
			return movesLeftRowLoss(dz, z, q, scale), false
		})
		heads, terms[HeadMovesLeft] = append(heads, s), s.terms
	}
	for _, l := range h.cfg.Losses {
		if l.Head == HeadWeights {
			h.terms = append(h.terms, nil)
			continue
		}
		h.terms = append(h.terms, terms[l.Head][0])
		terms[l.Head] = terms[l.Head][1:]
	}
	return heads
}

func (h *host) begin() error { h.e.loadRunning(); return nil }

func (h *host) run(next func() (*encoding.TrainBatch, pass, error), s *sums) (objective float64, err error) {
	defer func() { h.e.bnMomentum = h.cfg.BNMomentum }()
	for {
		b, p, err := next()
		if b == nil || err != nil {
			return objective, err
		}
		h.e.lossScale, h.e.bnMomentum = p.lossScale, h.cfg.BNMomentum
		if p.bnMomentum != 0 {
			h.e.bnMomentum = p.bnMomentum
		}
		h.e.begin(b, p.mode, p.train)
		if !p.train {
			h.g.forward()
		} else {
			loss, err := h.g.run()
			if err != nil {
				return 0, err
			}
			objective += loss
			h.accumulate(p.first)
		}
		h.collect(s)
	}
}

// accumulate adds the gradients of the last micro-batch to the step's.
func (h *host) accumulate(first bool) {
	h.e.pool.run(len(h.acc), func(i, _ int) {
		a := h.acc[i]
		if first {
			copy(a.sum, a.grad)
		} else {
			kernel.Add(a.sum, a.sum, a.grad)
		}
	})
}

// collect adds the measures of the engine's micro-batch, slice by slice.
func (h *host) collect(s *sums) {
	for slice := range h.e.numSlices() {
		for i, term := range h.terms {
			if term != nil {
				s.losses[i].merge(&term.tallies[slice])
				s.hits[i].merge(&term.hits[slice])
			}
		}
		if h.policy != nil {
			s.entropy.merge(&h.policy.entropy[slice])
			s.target.merge(&h.policy.target[slice])
			s.legal.merge(&h.policy.legal[slice])
		}
	}
}

// prepareGradients scales the sums and adds the gradient of the L2 losses.
func (h *host) prepareGradients(scale float64) {
	factor, weight := float32(scale), h.cfg.l2Weight()
	h.e.pool.run(len(h.acc), func(i, _ int) {
		a := h.acc[i]
		if factor != 1 {
			kernel.Scale(a.sum, factor)
		}
		if weight > 0 && decays(a.spec) {
			kernel.Axpy(a.sum, float32(weight), a.data)
		}
	})
}

func (h *host) halfSquares() (float64, error) {
	return h.e.sumSquares(len(h.e.params), func(i int) []float32 {
		if p := &h.e.params[i]; decays(p.spec) {
			return p.data
		}
		return nil
	}) / 2, nil
}

func (h *host) update(u update) (done updated, err error) {
	h.prepareGradients(u.scale)
	if done.halfSquares, err = h.halfSquares(); err != nil {
		return done, err
	}
	done.gradNorm = math.Sqrt(h.e.sumSquares(len(h.acc), func(i int) []float32 { return h.acc[i].sum }))
	done.finite = isFinite(u.objective+h.cfg.l2Weight()*done.halfSquares) && isFinite(done.gradNorm) && h.runningFinite()
	if !done.finite {
		return done, nil
	}
	if f := clipFactor(done.gradNorm, h.cfg.ClipNorm); f != 1 {
		h.e.pool.run(len(h.acc), func(i, _ int) { kernel.Scale(h.acc[i].sum, float32(f)) })
	}
	h.opt.SetLR(u.lr)
	if err := h.opt.Step(h.model); err != nil {
		return done, err
	}
	h.e.storeRunning()
	h.e.version++
	if u.average {
		h.swa.take(h.net)
	}
	return done, nil
}

// runningFinite says whether the pending running statistics are finite.
func (h *host) runningFinite() bool {
	for _, r := range h.e.running {
		if !isFinite(kernel.SumSquares(r)) {
			return false
		}
	}
	return true
}

// refresh lends the net's memory to the averaged weights.
func (h *host) refresh(next func() (*encoding.TrainBatch, pass, error)) error {
	saved := make([][]float32, len(h.e.params))
	for i, p := range h.e.params {
		saved[i] = append([]float32(nil), p.data...)
		copy(p.data, h.swa.params[i])
	}
	h.e.version++
	h.e.loadRunning() // a skipped step may have left NaN there
	_, err := h.run(next, newSums(len(h.terms)))
	h.e.version++
	for i, p := range h.e.params {
		copy(p.data, saved[i])
		if err == nil && h.e.running[i] != nil {
			copy(h.swa.params[i], h.e.running[i])
		}
	}
	return err
}

func (h *host) pull(bool) error { return nil } // it is the same memory
func (h *host) push() error     { h.e.version++; return nil }

func (h *host) close() error {
	h.e.pool.close()
	return h.g.close()
}
