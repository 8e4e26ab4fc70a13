package cuda

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
	"github.com/chessbrain/chessbrain/nn/device"
)

var _ device.Trainer = (*Group)(nil)

// Group is a net in training on several devices; it implements device.Trainer. Each has the
// net, and takes a step's micro-batches in turn, which are the same passes that one device
// would do one after the other. The first has the optimizer: it adds up the gradients, device
// by device, changes the weights and gives them to the others. So equal steps give equal bits
// for a number of devices, and sums of another order for another number.
//
// The micro-batches of a step should be a multiple of the devices. Else a step whose first one
// was staged ahead may begin on another device than in a run that is resumed there.
type Group struct {
	all []*Trainer
	mem memory     // of the first device
	in  driver.Ptr // what another one has, on its way into a sum

	turn            int   // device of the next Stage
	staged, started []int // devices, in order
	shares          []share
	holder          int // device that has the newest pending statistics, outside of steps
}

// share is what a device has done of a step.
type share struct {
	passes int
	keep   float64 // of the running statistics, what is left after its passes
}

// NewGroup makes room for a net on each of the devices; the first has its optimizer.
func NewGroup(devices []*Device, cfg device.Config) (*Group, error) {
	g := &Group{shares: make([]share, len(devices))}
	for _, d := range devices {
		t, err := d.NewTrainer(cfg)
		if err != nil {
			return nil, errors.Join(err, g.Close())
		}
		g.all = append(g.all, t)
	}
	l := g.all[0].layout
	g.mem.d = devices[0].driver
	if g.in = g.mem.floats(max(l.trained, l.running)); g.mem.err != nil {
		return nil, errors.Join(fmt.Errorf("gradients of %d devices on %s: %w", len(devices), devices[0].Info().Name, g.mem.err), g.Close())
	}
	return g, nil
}

// each does f for all devices from the one on, and names that of an error.
func (g *Group) each(from int, f func(t *Trainer) error) error {
	for i := range g.all[from:] {
		if err := g.of(from+i, f); err != nil {
			return err
		}
	}
	return nil
}

// of does f for a device.
func (g *Group) of(i int, f func(t *Trainer) error) error {
	if err := f(g.all[i]); err != nil {
		return fmt.Errorf("cuda:%d: %w", g.all[i].dev.Info().Ordinal, err)
	}
	return nil
}

// Devices implements device.Trainer.
func (g *Group) Devices() int { return len(g.all) }

// Precision implements device.Trainer.
func (g *Group) Precision() (device.Precision, string) { return g.all[0].Precision() }

// Upload implements device.Trainer.
func (g *Group) Upload(s *device.State) error {
	return cmp.Or(g.settle(), g.each(0, func(t *Trainer) error { return t.Upload(s) }))
}

// settle waits until the others have copied what the first has: it is about to change.
func (g *Group) settle() error {
	return g.each(1, func(t *Trainer) error { return t.compute.Synchronize() })
}

// Download implements device.Trainer.
func (g *Group) Download(s *device.State) error { return g.all[0].Download(s) }

// Blend implements device.Trainer.
func (g *Group) Blend(term int, ratio float32) error {
	return g.each(0, func(t *Trainer) error { return t.Blend(term, ratio) })
}

// Stage implements device.Trainer.
func (g *Group) Stage(b *encoding.TrainBatch) error {
	return g.stage(func(t *Trainer) error { return t.Stage(b) })
}

// StageKept implements device.Trainer.
func (g *Group) StageKept(rows []device.KeptRow, weights []float32) error {
	return g.stage(func(t *Trainer) error { return t.StageKept(rows, weights) })
}

func (g *Group) stage(f func(t *Trainer) error) error {
	if len(g.staged)+len(g.started) == 0 {
		g.turn = 0
	}
	if err := g.of(g.turn, f); err != nil {
		return err
	}
	g.staged = append(g.staged, g.turn)
	g.turn = (g.turn + 1) % len(g.all)
	return nil
}

// OpenWindow implements device.Trainer: each device has all rows.
func (g *Group) OpenWindow(numRows int) (bool, error) {
	room := true
	err := g.each(0, func(t *Trainer) (err error) {
		if room {
			room, err = t.OpenWindow(numRows)
		}
		return err
	})
	if err != nil || room {
		return room, err
	}
	return false, g.each(0, (*Trainer).closeWindow)
}

// Keep implements device.Trainer.
func (g *Group) Keep(first int, b *encoding.TrainBatch) error {
	return g.each(0, func(t *Trainer) error { return t.Keep(first, b) })
}

// Start implements device.Trainer.
func (g *Group) Start(p device.Pass) error {
	if len(g.staged) == 0 {
		return errors.New("no micro-batch is staged")
	}
	i := g.staged[0]
	if err := g.of(i, func(t *Trainer) error { return g.start(i, t, p) }); err != nil {
		return err
	}
	g.staged, g.started = g.staged[1:], append(g.started, i)
	return nil
}

func (g *Group) start(i int, t *Trainer, p device.Pass) error {
	switch s := &g.shares[i]; {
	case p.Backward:
		p.First = s.passes == 0
		if p.First && i > 0 { // its part of the running statistics alone
			if err := t.compute.Memset(t.pending, 0, 4*t.layout.running); err != nil {
				return err
			}
		}
		s.passes++
		s.keep *= 1 - float64(float32(cmp.Or(p.BNMomentum, t.cfg.BNMomentum)))
	case !p.Running && i != g.holder: // statistics in the order of the batches
		from := g.all[g.holder]
		if err := from.compute.Synchronize(); err != nil {
			return err
		}
		if err := t.compute.CopyFromPeer(t.pending, from.dev.driver, from.pending, 4*t.layout.running); err != nil {
			return err
		}
		g.holder = i
	}
	return t.Start(p)
}

// Finish implements device.Trainer.
func (g *Group) Finish(out *device.Rows) error {
	if len(g.started) == 0 {
		return errors.New("no pass is started")
	}
	i := g.started[0]
	g.started = g.started[1:]
	return g.of(i, func(t *Trainer) error { return t.Finish(out) })
}

// Drop implements device.Trainer.
func (g *Group) Drop() error {
	g.staged, g.started = nil, nil
	return g.each(0, (*Trainer).Drop)
}

// BeginStep implements device.Trainer.
func (g *Group) BeginStep() error {
	g.holder = 0
	for i := range g.shares {
		g.shares[i] = share{keep: 1}
	}
	return g.each(0, (*Trainer).BeginStep)
}

// KeepRunning implements device.Trainer.
func (g *Group) KeepRunning(params [][]float32) error { return g.all[g.holder].KeepRunning(params) }

// Update implements device.Trainer.
func (g *Group) Update(u device.Update) (device.Updated, error) {
	if err := g.settle(); err != nil {
		return device.Updated{}, err
	}
	for i := range g.all[1:] {
		if err := g.of(0, func(first *Trainer) error { return g.add(first, i+1) }); err != nil {
			return device.Updated{}, err
		}
	}
	done, err := g.all[0].Update(u)
	if err != nil || !done.Finite {
		return done, err
	}
	return done, g.each(1, g.take)
}

// add puts what a device has done of the step to what the first has.
func (g *Group) add(first *Trainer, i int) error {
	t, s := g.all[i], g.shares[i]
	if s.passes == 0 {
		return nil
	}
	q := &queue{t: first}
	for _, a := range []struct {
		sum, part driver.Ptr
		n         int
		keep      float32
	}{{first.grads, t.grads, t.layout.trained, 1}, {first.pending, t.pending, t.layout.running, float32(s.keep)}} {
		if a.n == 0 {
			continue
		}
		if err := first.compute.CopyFromPeer(g.in, t.dev.driver, a.part, 4*a.n); err != nil {
			return err
		}
		q.do(kernels.AddPart(kernels.AddPartArgs{Sum: a.sum, Part: g.in, N: int32(a.n), Keep: a.keep}))
	}
	return q.err
}

// take copies the first device's net.
func (g *Group) take(t *Trainer) error {
	first := g.all[0]
	if err := t.compute.CopyFromPeer(t.params, first.dev.driver, first.params, 4*t.layout.trained); err != nil {
		return err
	}
	if err := t.compute.CopyFromPeer(t.running, first.dev.driver, first.running, 4*t.layout.running); err != nil {
		return err
	}
	q := &queue{t: t}
	t.pack(q)
	return q.err
}

// Close gives the devices' memory back.
func (g *Group) Close() error {
	for _, t := range g.all {
		if t.compute != nil {
			_ = t.compute.Synchronize() // nobody copies from another any more; its own Close says what is wrong
		}
	}
	errs := []error{g.mem.free()}
	for _, t := range g.all {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}
