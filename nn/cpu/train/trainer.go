package train

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// trainer is a net in training on the CPU; it implements device.Trainer. It works while
// it is waited for: Finish does the pass.
type trainer struct {
	cfg      device.Config
	e        *engine
	layers   []towerLayer
	heads    *heads
	g        *graph
	terms    []*term // in the order of cfg.Terms
	policy   *policyLoss
	sparse   *sparseLayers // those of a sparse net, in the place of layers, heads and g
	acc      []accumulator // trained parameters, in the order of nn.Specs
	opt      *optimizer
	trained  []piece     // of acc
	decaying []piece     // of the engine's parameters
	swa      [][]float32 // by parameter; nil = there is no average

	queue   []work // staged and not finished, in order
	started int    // of these
	free    []*encoding.TrainBatch
}

// accumulator is a trained parameter and the sum of its gradients over the
// micro-batches of a step.
type accumulator struct {
	*param
	sum []float32
}

// work is a micro-batch and how it goes through the net.
type work struct {
	b    *encoding.TrainBatch
	pass device.Pass
}

// kinds are the blocks and heads that this package trains.
var kinds = []string{nn.BlockInput, nn.BlockResidual, nn.PolicyConvolutional, nn.PolicyClassical, nn.HeadFlattened, nn.HeadPooled,
	nn.BlockEmbedding, nn.BlockDenseEmbedding, nn.BlockEncoder, nn.BlockSmolgen, nn.PolicyAttention, nn.PolicyEncoded, nn.BlockSparse, nn.PolicyMoves, nn.HeadDense, nn.HeadShared}

// Open makes the layers of a net, their graph and the workers; Upload gives it weights.
// Errors wrap nn.ErrArch where a kind of block or head is not trained here.
func Open(cfg device.Config) (device.Trainer, error) { return open(cfg) }

func open(cfg device.Config) (*trainer, error) {
	if err := cfg.Arch.Only("training on a CPU", kinds...); err != nil {
		return nil, err
	}
	cfg.Workers = cmp.Or(cfg.Workers, runtime.GOMAXPROCS(0))
	t := &trainer{cfg: cfg, free: []*encoding.TrainBatch{encoding.NewTrainBatch(cfg.Capacity), encoding.NewTrainBatch(cfg.Capacity)}}
	p := kernel.FP32
	if used, _ := t.Precision(); used == device.BF16 {
		p = kernel.BF16
	}
	t.e = newEngine(cfg.Arch, cfg.Capacity, cfg.Workers, cfg.BNMomentum, p)
	if err := t.build(); err != nil {
		t.e.pool.close()
		return nil, err
	}
	var specs []nn.ParamSpec
	for i := range t.e.params {
		p := &t.e.params[i]
		if p.grad != nil {
			t.trained = cut(t.trained, len(t.acc), len(p.data))
			t.acc, specs = append(t.acc, accumulator{p, make([]float32, len(p.data))}), append(specs, p.spec)
		}
		if decays(p.spec) {
			t.decaying = cut(t.decaying, i, len(p.data))
		}
	}
	t.opt = newOptimizer(&t.cfg, specs)
	return t, nil
}

// build makes the layers and what runs them.
func (t *trainer) build() (err error) {
	byHead := t.makeTerms()
	if t.cfg.Arch.Sparse() {
		t.sparse = newSparseLayers(t.e, byHead)
		return nil
	}
	var first *encoderLayer
	for i, b := range t.cfg.Arch.Blocks {
		switch b.Kind {
		case nn.BlockInput:
			t.layers = append(t.layers, newInputLayer(t.e))
		case nn.BlockResidual:
			t.layers = append(t.layers, newBlockLayer(t.e, i-1))
		case nn.BlockEmbedding, nn.BlockDenseEmbedding:
			t.layers = append(t.layers, newEmbeddingLayer(t.e, t.cfg.Arch))
		case nn.BlockEncoder, nn.BlockSmolgen:
			l := newEncoderLayer(t.e, t.cfg.Arch, i, first)
			t.layers, first = append(t.layers, l), cmp.Or(first, l)
		}
	}
	t.heads = &heads{e: t.e, list: t.buildHeads(byHead)}
	t.g, err = newGraph(t.layers, t.heads, t.e.params, t.cfg.Capacity, squares, t.cfg.Arch.Width())
	return err
}

// makeTerms fills terms, and returns them by the prefixes of their heads.
func (t *trainer) makeTerms() map[string][]*term {
	byHead := map[string][]*term{}
	for _, of := range t.cfg.Terms {
		made := &term{Term: of, rows: make([]device.RowLoss, t.cfg.Capacity), sums: make([]float64, t.e.maxSlices())}
		t.terms = append(t.terms, made)
		if name := of.Prefix(); of.Head == device.Policy && made.plain() {
			byHead[name] = append([]*term{made}, byHead[name]...) // before the further ones
		} else {
			byHead[name] = append(byHead[name], made)
		}
	}
	return byHead
}

// buildHeads makes the heads that have losses.
func (t *trainer) buildHeads(byHead map[string][]*term) (list []headLayer) {
	var policies []*policyLoss
	policy := func(l headLayer, p *policyLoss, name string) {
		if list, policies = append(list, l), append(policies, p); name == "" {
			t.policy = p
		}
	}
	for _, h := range t.cfg.Arch.Heads {
		terms, buffer := byHead[h.Prefix()], towerBuffer+1+len(list)
		if terms == nil {
			continue
		}
		switch h.Kind {
		case nn.PolicyConvolutional, nn.PolicyClassical:
			p := newPolicyHead(t.e, h, terms)
			p.buffer = buffer
			policy(p, &p.policyLoss, h.Name)
		case nn.PolicyAttention, nn.PolicyEncoded:
			p := newAttentionPolicy(t.e, t.cfg.Arch, h, terms)
			policy(p, &p.policyLoss, h.Name)
		case nn.HeadFlattened, nn.HeadPooled:
			scalar := newScalarHead(t.e, h, terms)
			scalar.buffer, list = buffer, append(list, scalar)
			for _, p := range policies { // the auxiliary head is the last one
				if h.Output == nn.Auxiliary {
					p.auxiliary = func(row int) []float32 { return scalar.z[row*nn.NumAuxiliary:] }
				}
			}
		}
	}
	return list
}

// Devices implements device.Trainer.
func (t *trainer) Devices() int { return 1 }

// Precision implements device.Trainer.
func (t *trainer) Precision() (device.Precision, string) {
	switch {
	case t.cfg.Precision == device.FP16:
		return device.FP32, "--amp fp16: the CPU has no fp16 products; training runs in fp32 (take --amp bf16, or a device)"
	case t.cfg.Precision == device.BF16 && !kernel.HasBF16():
		return device.FP32, "--amp: this CPU has no bf16 products (AVX512_BF16, AMX or FEAT_BF16); training runs in fp32"
	}
	return t.cfg.Precision, ""
}

// Blend implements device.Trainer.
func (t *trainer) Blend(term int, ratio float32) error {
	t.terms[term].Ratio = ratio
	return nil
}

// Stage implements device.Trainer.
func (t *trainer) Stage(b *encoding.TrainBatch) error {
	if len(t.free) == 0 {
		return errors.New("two micro-batches are staged and not finished")
	}
	if b.N < 1 || b.N > t.cfg.Capacity {
		return fmt.Errorf("a micro-batch of %d rows, want 1 to %d", b.N, t.cfg.Capacity)
	}
	last := len(t.free) - 1
	t.free[last].CopyFrom(b)
	t.queue, t.free = append(t.queue, work{b: t.free[last]}), t.free[:last]
	return nil
}

// OpenWindow implements device.Trainer. There is nothing to win: the rows lie in this
// memory already.
func (t *trainer) OpenWindow(int) (bool, error) { return false, nil }

var errNoWindow = errors.New("the CPU keeps no window of rows")

// Keep implements device.Trainer.
func (t *trainer) Keep(int, *encoding.TrainBatch) error { return errNoWindow }

// StageKept implements device.Trainer.
func (t *trainer) StageKept([]device.KeptRow, []float32) error { return errNoWindow }

// Start implements device.Trainer.
func (t *trainer) Start(p device.Pass) error {
	if t.started == len(t.queue) {
		return errors.New("no micro-batch is staged")
	}
	t.queue[t.started].pass = p
	t.started++
	return nil
}

// Finish implements device.Trainer.
func (t *trainer) Finish(out *device.Rows) error {
	if t.started == 0 {
		return errors.New("no pass is started")
	}
	w := t.queue[0]
	t.queue, t.started, t.free = t.queue[1:], t.started-1, append(t.free, w.b)
	if err := t.run(w); err != nil {
		return err
	}
	if len(out.Terms) != len(t.terms) {
		out.Terms = make([][]device.RowLoss, len(t.terms))
	}
	for i, term := range t.terms {
		out.Terms[i] = append(out.Terms[i][:0], term.rows[:w.b.N]...)
	}
	out.Entropy = out.Entropy[:0]
	switch {
	case t.policy != nil:
		out.Entropy = append(out.Entropy, t.policy.entropy[:w.b.N]...)
	case t.sparse != nil && t.sparse.policy.terms != nil:
		out.Entropy = append(out.Entropy, t.sparse.entropy[:w.b.N]...)
	}
	return nil
}

// run takes a micro-batch through the net; without gradients Gorgonia has no part in it.
func (t *trainer) run(w work) error {
	e, mode := t.e, batchStats
	if w.pass.Running {
		mode = runningStats
	}
	e.bnMomentum = cmp.Or(w.pass.BNMomentum, t.cfg.BNMomentum)
	e.lossScale = float64(w.pass.LossScale)
	e.begin(w.b, mode, w.pass.Backward)
	switch {
	case t.sparse != nil:
		t.sparse.pass()
	case w.pass.Backward:
		if _, err := t.g.run(); err != nil {
			return err
		}
	default:
		var x []float32
		for _, l := range t.layers {
			x = l.forward(x)
		}
		t.heads.forward(x)
	}
	if w.pass.Backward {
		t.accumulate(w.pass.First)
	}
	return nil
}

// accumulate adds the gradients of the last micro-batch to the step's.
func (t *trainer) accumulate(first bool) {
	if first && t.sparse != nil { // whose next pass sets all gradients anew
		for i := range t.acc {
			a := &t.acc[i]
			a.sum, a.grad = a.grad, a.sum
		}
		return
	}
	t.e.each(t.trained, func(p piece) {
		a := &t.acc[p.tensor]
		if sum, grad := a.sum[p.lo:p.hi], a.grad[p.lo:p.hi]; first {
			copy(sum, grad)
		} else {
			kernel.Add(sum, sum, grad)
		}
	})
}

// Drop implements device.Trainer.
func (t *trainer) Drop() error {
	for _, w := range t.queue {
		t.free = append(t.free, w.b)
	}
	t.queue, t.started = slices.Delete(t.queue, 0, len(t.queue)), 0
	return nil
}

// Close ends the workers.
func (t *trainer) Close() error {
	t.e.pool.close()
	if t.g == nil {
		return nil
	}
	return t.g.close()
}
