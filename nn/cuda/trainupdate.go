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
	}), kernels.FinishNorm(kernels.FinishNormArgs{
		Part: t.normParts, Pending: t.pending, State: t.stepState, Parts: int32(kernels.PrepareGradientParts(n)),
		Running: int32(t.layout.running), ClipNorm: float32(u.ClipNorm), ObjectiveFinite: finite,
	}), t.optimize(u), kernels.KeepRunning(kernels.KeepRunningArgs{
		Pending: t.pending, Running: t.running, Swa: t.swaRunning, State: t.stepState,
		N: int32(t.layout.running), SwaKeep: u.SWAKeep, SwaAdd: u.SWAAdd,
	}))
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
	if c.Optimizer == "nadamw" {
		a.Cm, a.Cg = t.ahead.Shares(u.Step + 1)
		return kernels.NAdamW(a)
	}
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

// statePart is tensors of a state and where they lie on the device: the trained ones, or
// the running statistics.
type statePart struct {
	tensors [][]float32
	at      driver.Ptr
	trained bool
}

// parts lists those of s that are not nil.
func (t *Trainer) parts(s *device.State) (list []statePart) {
	both := func(tensors [][]float32, trained, running driver.Ptr) {
		if tensors != nil {
			list = append(list, statePart{tensors, trained, true}, statePart{tensors, running, false})
		}
	}
	both(s.Params, t.params, t.running)
	for i, m := range s.Moments {
		list = append(list, statePart{m, t.moments[i], true})
	}
	both(s.SWA, t.swa, t.swaRunning)
	return list
}

// Upload implements device.Trainer.
func (t *Trainer) Upload(s *device.State) error {
	if s.Params == nil || s.Moments == nil {
		return errors.New("upload: no weights or no moments")
	}
	if err := t.cfg.Check(s); err != nil {
		return err
	}
	for _, p := range t.parts(s) {
		array := t.layout.array(p.trained)
		t.layout.put(array, p.tensors, p.trained)
		if err := t.compute.CopyToDevice(p.at, bytesOf(array)); err != nil {
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
	if err := t.cfg.Check(s); err != nil {
		return err
	}
	for _, p := range t.parts(s) {
		if err := t.fetch(p); err != nil {
			return err
		}
	}
	return nil
}

// KeepRunning implements device.Trainer.
func (t *Trainer) KeepRunning(params [][]float32) error {
	return t.fetch(statePart{params, t.pending, false})
}

// fetch copies a part from the device.
func (t *Trainer) fetch(p statePart) error {
	array := t.layout.array(p.trained)
	if err := t.compute.CopyToHost(bytesOf(array), p.at); err != nil {
		return err
	}
	if err := t.compute.Synchronize(); err != nil {
		return err
	}
	t.layout.take(array, p.tensors, p.trained)
	return nil
}
