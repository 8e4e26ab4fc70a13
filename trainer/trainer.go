package trainer

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Trainer owns a net's master weights and everything that decides the next
// step. It is used by one goroutine at a time; Close ends its worker pool.
type Trainer struct {
	cfg      Config
	net      *nn.Net // master weights; the engine and the graph share its memory
	e        *engine
	g        *graph
	terms    []*term // in the order of cfg.Losses, nil for L2
	policy   *policyHead
	opt      Optimizer
	model    []gorgonia.ValueGrad // trained parameters, in the order of Specs
	acc      []*accumulator       // the same
	swa      swaAverage
	scaler   lossScaler
	batch    *encoding.TrainBatch
	progress progress
	warnings []string
}

// progress counts what has been done; it is part of the state.
type progress struct {
	Step        int64 `json:"step"`        // optimizer steps taken
	Samples     int64 `json:"samples"`     // rows of those steps
	Skipped     int64 `json:"skipped"`     // steps skipped for a number that is not finite
	Consecutive int64 `json:"consecutive"` // of those, the ones since the last good step
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

// New returns a trainer of a copy of net. Errors wrap ErrConfig where the
// configuration is wrong or does not fit the net. Adjust DefaultLosses with
// LossesFor first. Call Close when done.
func New(net *nn.Net, cfg Config) (*Trainer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := net.Validate(); err != nil {
		return nil, fmt.Errorf("trainer: %w", err)
	}
	if err := cfg.checkNet(net.Arch); err != nil {
		return nil, err
	}
	t := &Trainer{cfg: cfg, net: net.Clone(), scaler: newLossScaler(false), batch: encoding.NewTrainBatch(cfg.BatchSize)}
	t.swa.cfg = cfg.SWA
	precision := kernel.FP32
	if cfg.AMP && kernel.HasBF16() {
		precision = kernel.BF16
	}
	t.e = newEngine(t.net, cfg.BatchSize, cfg.numWorkers(), cfg.BNMomentum, precision)
	if err := t.build(); err != nil {
		t.e.pool.close()
		return nil, err
	}
	if cfg.AMP && !kernel.HasBF16() {
		t.warnings = append(t.warnings, "--amp: this CPU has no bf16 products (AVX512_BF16 or AMX); training runs in fp32")
	}
	return t, nil
}

// build makes the layers, the graph and the optimizer.
func (t *Trainer) build() error {
	layers := []towerLayer{newInputLayer(t.e)}
	for i := range t.net.Arch.Blocks {
		layers = append(layers, newBlockLayer(t.e, i))
	}
	g, err := newGraph(t.e, layers, t.buildHeads())
	if err != nil {
		return err
	}
	t.g = g
	var sizes []int
	var decay []bool
	for i := range t.e.params {
		p := &t.e.params[i]
		if p.grad == nil {
			continue
		}
		sum := make([]float32, len(p.data))
		a := &accumulator{param: p, sum: sum,
			value: tensor.New(tensor.WithShape(p.spec.Shape...), tensor.WithBacking(p.data)),
			total: tensor.New(tensor.WithShape(p.spec.Shape...), tensor.WithBacking(sum))}
		t.acc, t.model = append(t.acc, a), append(t.model, a)
		sizes, decay = append(sizes, len(sum)), append(decay, decays(p.spec))
	}
	t.opt = NewOptimizer(&t.cfg, sizes, decay, t.e.pool.run)
	return nil
}

// buildHeads makes the heads that have losses and fills terms.
func (t *Trainer) buildHeads() []headLayer {
	byHead := map[Head][]Loss{}
	for _, l := range t.cfg.Losses {
		byHead[l.Head] = append(byHead[l.Head], l)
	}
	var heads []headLayer
	terms := map[Head][]*term{}
	if l := byHead[HeadPolicy]; l != nil {
		t.policy = newPolicyHead(t.e, l)
		heads, terms[HeadPolicy] = append(heads, t.policy), t.policy.terms
	}
	if l := byHead[HeadValue]; l != nil {
		loss := wdlRowLoss
		if valueKind(t.net.Arch) == MSE {
			loss = scalarRowLoss
		}
		h := newScalarHead(t.e, string(HeadValue), l, loss)
		heads, terms[HeadValue] = append(heads, h), h.terms
	}
	if l := byHead[HeadMovesLeft]; l != nil {
		h := newScalarHead(t.e, string(HeadMovesLeft), l, func(dz, z []float32, q encoding.QDM, scale float32) (rowLoss, bool) {
			return movesLeftRowLoss(dz, z, q, scale), false
		})
		heads, terms[HeadMovesLeft] = append(heads, h), h.terms
	}
	for _, l := range t.cfg.Losses {
		if l.Head == HeadWeights {
			t.terms = append(t.terms, nil)
			continue
		}
		t.terms = append(t.terms, terms[l.Head][0])
		terms[l.Head] = terms[l.Head][1:]
	}
	return heads
}

// Close ends the worker pool. The trainer must not be used afterwards.
func (t *Trainer) Close() error {
	t.e.pool.close()
	return t.g.close()
}

// Warnings are what the user should be told once about this device.
func (t *Trainer) Warnings() []string { return t.warnings }

// NumSteps and NumSamples say how far training is: optimizer steps taken and
// rows trained on in them. NumSkipped counts steps skipped for a loss or
// gradient that was not finite.
func (t *Trainer) NumSteps() int64   { return t.progress.Step }
func (t *Trainer) NumSamples() int64 { return t.progress.Samples }
func (t *Trainer) NumSkipped() int64 { return t.progress.Skipped }

// LearningRate is the rate of the next step, warm-up included.
func (t *Trainer) LearningRate() float64 {
	p := t.progress
	return t.cfg.Schedule.At(p.Step) * t.cfg.Warmup.Factor(p.Step, p.Samples)
}

// Net returns a copy of the weights for producers and exporters.
func (t *Trainer) Net() *nn.Net { return t.net.Clone() }

// paramData lists the memory of all parameters in the order of Specs.
func (t *Trainer) paramData() [][]float32 {
	d := make([][]float32, len(t.e.params))
	for i := range d {
		d[i] = t.e.params[i].data
	}
	return d
}
