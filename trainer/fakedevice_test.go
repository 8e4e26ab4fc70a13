package trainer

import (
	"errors"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// fakeDevice is a device.Trainer over the CPU's engine, with memory of its own. It
// holds every call against the rules of the interface.
type fakeDevice struct {
	cfg     device.Config
	inner   *Trainer
	staged  []*encoding.TrainBatch // not started
	started []fakePass             // not finished
	began   bool
	closed  bool
	fail    func(call string) error // nil = nothing fails
	small   bool                    // it has no room for a window
	slots   []*encoding.TrainBatch  // the window; nil = a slot that holds nothing yet
	kept    int                     // rows that were copied into it
}

// smallDevice is the capacity of a fake device without room for a window.
const smallDevice = 7

type fakePass struct {
	b    *encoding.TrainBatch
	pass device.Pass
}

// openFake opens fake devices; the last one is kept in *last.
func openFake(last **fakeDevice) func(device.Config) (device.Trainer, error) {
	return func(c device.Config) (device.Trainer, error) {
		cfg := Config{BatchSize: c.Capacity, GradAccumSteps: 1, Workers: 1, Optimizer: c.Optimizer, Momentum: float64(c.Momentum),
			Beta1: float64(c.Beta1), Beta2: float64(c.Beta2), Epsilon: float64(c.Epsilon), WeightDecay: float64(c.Decay),
			BNMomentum: float64(c.BNMomentum), Schedule: ConstantLR(1)}
		for i, t := range c.Terms {
			l := Loss{Head: [...]Head{HeadPolicy, HeadValue, HeadMovesLeft}[t.Head], Weight: float64(t.Weight), Target: t.Target, Metric: fmt.Sprint(i)}
			l.Kind = map[Head]LossKind{HeadPolicy: CrossEntropy, HeadValue: valueKind(c.Arch), HeadMovesLeft: Huber}[l.Head]
			if t.Ratio != 0 {
				l.Mix = &Mix{QRatio: float64(t.Ratio), Other: t.Other}
			}
			cfg.Losses = append(cfg.Losses, l)
		}
		if c.L2 != 0 {
			cfg.Losses = append(cfg.Losses, Loss{Head: HeadWeights, Kind: L2, Weight: float64(c.L2), Metric: "l2"})
		}
		inner, err := New(nn.Init(c.Arch, 4711), cfg)
		f := &fakeDevice{cfg: c, inner: inner, small: c.Capacity == smallDevice}
		if last != nil {
			*last = f
		}
		return f, err
	}
}

func (f *fakeDevice) check(call string) error {
	if f.closed {
		return fmt.Errorf("%s of a closed device", call)
	}
	if f.fail != nil {
		return f.fail(call)
	}
	return nil
}

// each pairs the lists of s with those of the inner trainer.
func (f *fakeDevice) each(s *device.State, visit func(outside, inside []float32)) error {
	pair := func(outside, inside [][]float32) error {
		if len(outside) != len(inside) {
			return fmt.Errorf("a list of %d tensors for %d", len(outside), len(inside))
		}
		for i := range outside {
			if len(outside[i]) != len(inside[i]) {
				return fmt.Errorf("tensor %d has %d numbers for %d", i, len(outside[i]), len(inside[i]))
			}
			visit(outside[i], inside[i])
		}
		return nil
	}
	var errs []error
	if s.Params != nil {
		errs = append(errs, pair(s.Params, f.inner.paramData()))
	}
	if s.Moments != nil {
		for k, m := range f.inner.opt.Moments() {
			errs = append(errs, pair(s.Moments[k], m.Data))
		}
	}
	if s.SWA != nil {
		errs = append(errs, pair(s.SWA, f.inner.swa.params))
	}
	return errors.Join(errs...)
}

func (f *fakeDevice) Upload(s *device.State) error {
	if err := f.check("Upload"); err != nil {
		return err
	}
	f.inner.swa.params = nil
	if s.SWA != nil {
		f.inner.swa.reserve(f.inner.paramData())
	}
	f.inner.e.version++
	return f.each(s, func(outside, inside []float32) { copy(inside, outside) })
}

func (f *fakeDevice) Download(s *device.State) error {
	if err := f.check("Download"); err != nil {
		return err
	}
	return f.each(s, func(outside, inside []float32) { copy(outside, inside) })
}

func (f *fakeDevice) Stage(b *encoding.TrainBatch) error {
	if len(f.staged)+len(f.started) >= 2 {
		return errors.New("a third batch is staged")
	}
	if err := f.check("Stage"); err != nil {
		return err
	}
	c := encoding.NewTrainBatch(f.cfg.Capacity)
	for i := range b.N {
		copyRow(c, b, i)
	}
	f.staged = append(f.staged, c)
	return nil
}

func (f *fakeDevice) OpenWindow(numRows int) (bool, error) {
	if f.slots != nil {
		return false, errors.New("a second window")
	}
	if err := f.check("OpenWindow"); err != nil || f.small {
		return false, err
	}
	f.slots = make([]*encoding.TrainBatch, numRows)
	return true, nil
}

func (f *fakeDevice) Keep(first int, b *encoding.TrainBatch) error {
	if err := f.check("Keep"); err != nil {
		return err
	}
	if b.N > len(f.slots) || first >= len(f.slots) {
		return fmt.Errorf("%d rows for slot %d of %d", b.N, first, len(f.slots))
	}
	for i := range b.N {
		row := encoding.NewTrainBatch(1)
		row.AppendRow(b, i)
		f.slots[(first+i)%len(f.slots)] = row
	}
	f.kept += b.N
	return nil
}

func (f *fakeDevice) StageKept(rows []device.KeptRow, weights []float32) error {
	if len(rows) != len(weights) {
		return fmt.Errorf("%d weights for %d rows", len(weights), len(rows))
	}
	b := encoding.NewTrainBatch(len(rows))
	for i, r := range rows {
		row := f.slots[r/device.KeptRow(encoding.NumTransforms)]
		if row == nil {
			return fmt.Errorf("row %d is not there", r)
		}
		b.AppendRow(row, 0)
		b.ApplySymmetry(i, encoding.Transform(r%device.KeptRow(encoding.NumTransforms)))
		b.Weight[i] = weights[i]
	}
	return f.Stage(b)
}

func (f *fakeDevice) Start(p device.Pass) error {
	if len(f.staged) == 0 {
		return errors.New("nothing is staged")
	}
	if p.Backward && p.First && !f.began {
		return errors.New("the step was not begun")
	}
	if err := f.check("Start"); err != nil {
		return err
	}
	f.started, f.staged = append(f.started, fakePass{f.staged[0], p}), f.staged[1:]
	return nil
}

// Finish does the pass only now: whoever reads results before it sees none.
func (f *fakeDevice) Finish(out *device.Rows) error {
	if len(f.started) == 0 {
		return errors.New("nothing is started")
	}
	if err := f.check("Finish"); err != nil {
		return err
	}
	work := f.started[0]
	f.started = f.started[1:]
	given := false
	_, err := f.inner.host.run(func() (*encoding.TrainBatch, pass, error) {
		if given {
			return nil, pass{}, nil
		}
		given = true
		p := pass{train: work.pass.Backward, first: work.pass.First, lossScale: float64(work.pass.LossScale), bnMomentum: float64(work.pass.BNMomentum)}
		if work.pass.Running {
			p.mode = runningStats
		}
		return work.b, p, nil
	}, newSums(len(f.inner.cfg.Losses)))
	f.measure(work.b, out)
	return err
}

// measure takes the rows' losses from the outputs that the pass left.
func (f *fakeDevice) measure(b *encoding.TrainBatch, out *device.Rows) {
	out.Terms, out.Entropy = make([][]device.RowLoss, len(f.cfg.Terms)), make([]float32, b.N)
	for k, t := range f.cfg.Terms {
		l := &f.inner.cfg.Losses[k]
		for i := range b.N {
			var r rowLoss
			var hit bool
			if t.Head == device.Policy {
				h := f.inner.policy
				p := policyRowLoss(nil, h.prob, h.y[i*h.width:][:h.width], h.off, b, i, 0)
				r, hit, out.Entropy[i] = p.rowLoss, p.hit, float32(p.entropy)
			} else {
				h := f.scalarHead(l.Head)
				r, hit = h.loss(make([]float32, h.fc2.n), h.z[i*h.fc2.n:][:h.fc2.n], l.target(&b.Targets[i]), 0)
			}
			m := device.RowLoss{Loss: float32(math.NaN()), Hit: float32(oneIf(hit))}
			if r.known {
				m.Loss = float32(r.value)
			}
			out.Terms[k] = append(out.Terms[k], m)
		}
	}
}

func (f *fakeDevice) scalarHead(name Head) *scalarHead {
	for _, h := range f.inner.g.heads {
		if s, ok := h.(*scalarHead); ok && s.label == string(name) {
			return s
		}
	}
	return nil
}

func (f *fakeDevice) Drop() error { f.staged, f.started = nil, nil; return nil }

func (f *fakeDevice) BeginStep() error {
	if len(f.started) > 0 {
		return errors.New("a step begins with batches under way")
	}
	if err := f.check("BeginStep"); err != nil {
		return err
	}
	f.began = true
	f.inner.e.loadRunning()
	return nil
}

func (f *fakeDevice) KeepRunning(params [][]float32) error {
	for i, r := range f.inner.e.running {
		copy(params[i], r)
	}
	return f.check("KeepRunning")
}

func (f *fakeDevice) Update(u device.Update) (device.Updated, error) {
	if err := f.check("Update"); err != nil {
		return device.Updated{}, err
	}
	f.began = false
	t := f.inner
	t.cfg.ClipNorm = float64(u.ClipNorm)
	t.opt.SetSteps(u.Step)
	t.swa.n = 0
	if u.SWAKeep != 0 { // n/(n+1) = keep
		t.swa.n = float64(u.SWAKeep / u.SWAAdd)
	}
	d, err := t.host.update(update{scale: float64(u.Scale), objective: u.Objective, lr: float64(u.LR), average: u.SWAAdd != 0})
	return device.Updated{GradNorm: d.gradNorm, HalfSquares: d.halfSquares, Finite: d.finite}, err
}

func (f *fakeDevice) Close() error {
	f.closed = true
	return f.inner.Close()
}
