package cuda

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
	"github.com/chessbrain/chessbrain/nn/device"
)

const stepStateBytes = int(unsafe.Sizeof(kernels.StepState{}))

// BeginStep implements device.Trainer.
func (t *Trainer) BeginStep() error {
	return t.compute.CopyOnDevice(t.pending, t.running, 4*t.layout.running)
}

// Update implements device.Trainer.
func (t *Trainer) Update(u device.Update) (device.Updated, error) {
	q := &queue{t: t}
	n := t.layout.trained
	finite := int32(0)
	if u.Objective-u.Objective == 0 {
		finite = 1
	}
	q.do(kernels.PrepareGradient(kernels.PrepareGradientArgs{
		G: t.grads, W: t.params, Decay: t.decay, Part: t.normParts, N: int32(n), Scale: u.Scale, L2: t.cfg.L2,
	}))
	q.do(kernels.FinishNorm(kernels.FinishNormArgs{
		Part: t.normParts, Pending: t.pending, State: t.stepState, Parts: int32(kernels.PrepareGradientParts(n)),
		Running: int32(t.layout.running), ClipNorm: float32(u.ClipNorm), ObjectiveFinite: finite,
	}))
	q.do(t.optimize(u))
	keep := kernels.KeepRunningArgs{Pending: t.pending, Running: t.running, Swa: t.swaRunning, State: t.stepState, N: int32(t.layout.running), SwaKeep: u.SWAKeep, SwaAdd: u.SWAAdd}
	q.do(kernels.KeepRunning(keep))
	t.pack(q)
	if q.err != nil {
		return device.Updated{}, fmt.Errorf("optimizer step: %w", q.err)
	}
	if err := t.compute.CopyToHost(t.stateHost, t.stepState); err != nil {
		return device.Updated{}, err
	}
	if err := t.compute.Synchronize(); err != nil {
		return device.Updated{}, fmt.Errorf("optimizer step: %w", err)
	}
	state := view[kernels.StepState](t.stateHost, 0, 1)[0]
	return device.Updated{GradNorm: state.GradNorm, HalfSquares: state.HalfSquares, Finite: state.Finite != 0}, nil
}

func (t *Trainer) optimize(u device.Update) kernels.Launch {
	c := &t.cfg
	a := kernels.StepArgs{
		W: t.params, G: t.grads, M: t.moments[0], Swa: t.swa, Decay: t.decay, State: t.stepState, N: int32(t.layout.trained),
		Lr: u.LR, Momentum: c.Momentum, Beta1: float32(c.Beta1), Beta2: float32(c.Beta2), Epsilon: c.Epsilon, WeightDecay: c.Decay,
		SwaKeep: u.SWAKeep, SwaAdd: u.SWAAdd,
	}
	if len(t.moments) == 1 {
		return kernels.SGD(a)
	}
	a.V = t.moments[1]
	taken := float64(u.Step + 1)
	a.Correction1 = float32(1 - math.Pow(float64(a.Beta1), taken))
	a.Correction2 = float32(1 - math.Pow(float64(a.Beta2), taken))
	return kernels.AdamW(a)
}

// pack brings the layers' weights up to date.
func (t *Trainer) pack(q *queue) {
	longest := 0
	for _, c := range t.convs {
		longest = max(longest, c.taps*c.inPad*c.outPad)
	}
	q.do(kernels.Pack(t.typ, kernels.PackArgs{Entries: t.entries, Count: int32(len(t.convs))}, longest))
}

// Upload implements device.Trainer.
func (t *Trainer) Upload(s *device.State) error {
	l := t.layout
	if s.Params == nil || s.Moments == nil {
		return errors.New("upload: no weights or no moments")
	}
	if err := t.checkState(s); err != nil {
		return err
	}
	send := func(to driver.Ptr, n int, tensors [][]float32, trained bool) error {
		array := make([]float32, n)
		l.gather(array, tensors, trained)
		return t.compute.CopyToDevice(to, bytesOf(array))
	}
	if err := send(t.params, l.trained, s.Params, true); err != nil {
		return err
	}
	if err := send(t.running, l.running, s.Params, false); err != nil {
		return err
	}
	for i, m := range s.Moments {
		if err := send(t.moments[i], l.trained, m, true); err != nil {
			return err
		}
	}
	if s.SWA != nil {
		if err := send(t.swa, l.trained, s.SWA, true); err != nil {
			return err
		}
		if err := send(t.swaRunning, l.running, s.SWA, false); err != nil {
			return err
		}
	}
	if err := t.BeginStep(); err != nil {
		return err
	}
	q := &queue{t: t}
	t.pack(q)
	if q.err != nil {
		return q.err
	}
	return t.compute.Synchronize()
}

// Download implements device.Trainer.
func (t *Trainer) Download(s *device.State) error {
	l := t.layout
	if err := t.checkState(s); err != nil {
		return err
	}
	fetch := func(tensors [][]float32, from driver.Ptr, n int, trained bool) error {
		array := make([]float32, n)
		if err := t.compute.CopyToHost(bytesOf(array), from); err != nil {
			return err
		}
		if err := t.compute.Synchronize(); err != nil {
			return err
		}
		l.scatter(tensors, array, trained)
		return nil
	}
	both := func(tensors [][]float32, trained, running driver.Ptr) error {
		if tensors == nil {
			return nil
		}
		if err := fetch(tensors, trained, l.trained, true); err != nil {
			return err
		}
		return fetch(tensors, running, l.running, false)
	}
	if err := both(s.Params, t.params, t.running); err != nil {
		return err
	}
	for i, m := range s.Moments {
		if err := fetch(m, t.moments[i], l.trained, true); err != nil {
			return err
		}
	}
	return both(s.SWA, t.swa, t.swaRunning)
}

// checkState refuses a state of another net or optimizer; parts that are nil are
// not looked at.
func (t *Trainer) checkState(s *device.State) error {
	if s.Moments != nil && len(s.Moments) != len(t.moments) {
		return fmt.Errorf("a state with %d moments does not fit %s", len(s.Moments), t.cfg.Optimizer)
	}
	for _, list := range [][][]float32{s.Params, s.SWA} {
		if list == nil {
			continue
		}
		if len(list) != len(t.layout.specs) {
			return fmt.Errorf("a state of %d tensors does not fit a net of %d", len(list), len(t.layout.specs))
		}
		for i, p := range list {
			if want := t.layout.specs[i].Len(); len(p) != want {
				return fmt.Errorf("tensor %s has %d numbers, want %d", t.layout.specs[i].Name, len(p), want)
			}
		}
	}
	return nil
}

// KeepRunning implements device.Trainer.
func (t *Trainer) KeepRunning(params [][]float32) error {
	array := make([]float32, t.layout.running)
	if err := t.compute.CopyToHost(bytesOf(array), t.pending); err != nil {
		return err
	}
	if err := t.compute.Synchronize(); err != nil {
		return err
	}
	t.layout.scatter(params, array, false)
	return nil
}
