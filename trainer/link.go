package trainer

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu/train"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// link is a trainer's device, which holds weights, moments and average; the
// trainer's memory is their mirror. While the device works on a micro-batch the
// next one is read and copied to it. Between two steps a source has given exactly what
// was trained on, so that its position can be saved: the first micro-batch of the next
// step is on its way only where the source lets it be peeked at.
type link struct {
	device.Trainer
	t      *Trainer
	rows   device.Rows
	losses []int        // by term: the loss of the configuration
	notes  []batchFacts // of the newest micro-batch, notes[turn], and of those before it that devices work on
	turn   int
	window *keptWindow // nil = there is none
	// The micro-batch that the device has ahead of its step, and whose it is; nil = none.
	ahead  *encoding.TrainBatch
	peeked Peeker
	ticket uint64
	// The device has newer ones than the trainer's memory.
	newerNet, newerRest bool
}

// pass says how a micro-batch goes through the net.
type pass struct {
	device.Pass
	staged bool // the device has it already
}

// openLink opens the device for t and gives it the net.
func openLink(t *Trainer) (*link, error) {
	l := &link{t: t}
	c := &t.cfg
	want := device.Config{
		Arch: t.net.Arch, Capacity: c.BatchSize, Precision: c.Precision, Workers: c.Workers, BNMomentum: c.BNMomentum,
		Optimizer: c.Optimizer, Momentum: float32(c.Momentum), Beta1: c.Beta1, Beta2: c.Beta2, MomentumDecay: c.MomentumDecay,
		Epsilon: float32(c.Epsilon), Decay: float32(c.WeightDecay), L2: float32(c.l2Weight()),
	}
	for i := range c.Losses {
		if c.Losses[i].Head != HeadWeights {
			want.Terms, l.losses = append(want.Terms, c.Losses[i].term()), append(l.losses, i)
		}
	}
	if len(l.losses) > maxTerms {
		return nil, configError("losses", "%d of them are on heads, want %d at most", len(l.losses), maxTerms)
	}
	open := c.Device
	if open == nil {
		open = train.Open
	}
	var err error
	if l.Trainer, err = open(want); err != nil {
		return nil, fmt.Errorf("trainer: %w", err)
	}
	l.notes = make([]batchFacts, l.Devices()+1)
	err = l.push()
	if err == nil {
		err = l.openWindow(c.Window)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// state is the trainer's memory as the device sees it.
func (l *link) state() *device.State {
	s := &device.State{Params: l.t.paramData(), SWA: l.t.swa.params}
	for _, m := range l.t.opt.moments {
		s.Moments = append(s.Moments, m.data)
	}
	return s
}

func (l *link) push() error {
	if err := l.Upload(l.state()); err != nil {
		return fmt.Errorf("copy the state to the device: %w", err)
	}
	l.newerNet, l.newerRest = false, false
	return nil
}

func (l *link) pull(all bool) error {
	s := l.state()
	if !l.newerNet {
		s.Params = nil
	}
	if !all || !l.newerRest {
		s.Moments, s.SWA = nil, nil
	}
	if s.Params == nil && s.Moments == nil {
		return nil
	}
	if err := l.Download(s); err != nil {
		return fmt.Errorf("copy the state from the device: %w", err)
	}
	l.newerNet, l.newerRest = false, l.newerRest && !all
	return nil
}

// lookAhead copies the next step's first micro-batch to the device, if src shows it.
// It is called while the device works on the last one of this step.
func (l *link) lookAhead(src BatchSource) error {
	p, ok := src.(Peeker)
	if !ok {
		return nil
	}
	if l.ahead == nil {
		l.ahead = encoding.NewTrainBatch(l.t.cfg.BatchSize)
	}
	l.ahead.Reset()
	ticket, ok := p.Peek(l.ahead)
	if !ok || l.t.checkBatch(l.ahead) != nil { // Next says what is wrong with it
		return nil
	}
	if err := l.stage(l.ahead); err != nil {
		return err
	}
	l.peeked, l.ticket = p, ticket
	return nil
}

// takeAhead makes the micro-batch that was copied ahead the trainer's, if it is still
// src's next one; else the device forgets it.
func (l *link) takeAhead(src BatchSource) (ok bool, err error) {
	if l.peeked == nil {
		return false, nil
	}
	if l.peeked == src && l.peeked.Take(l.ticket) {
		l.peeked = nil
		l.t.batch, l.ahead = l.ahead, l.t.batch
		return true, nil
	}
	return false, l.forget()
}

// forget lets go of a micro-batch that was copied ahead; it was not taken.
func (l *link) forget() error {
	if l.peeked == nil {
		return nil
	}
	l.peeked = nil
	return l.Drop()
}

// run keeps one micro-batch on its way to a device while it works on another.
func (l *link) run(next func() (*encoding.TrainBatch, pass, error), s *sums) (objective float64, err error) {
	defer func() {
		if err == nil {
			return
		}
		l.peeked = nil
		if dropErr := l.Drop(); dropErr != nil {
			err = errors.Join(err, dropErr)
		}
	}()
	if err := l.blend(); err != nil {
		return 0, err
	}
	var working []*batchFacts // of the batches that devices work on
	finish := func(left int) error {
		for len(working) > left {
			if err := l.Finish(&l.rows); err != nil {
				return err
			}
			objective += l.collect(working[0], s)
			working = working[1:]
		}
		return nil
	}
	for {
		b, p, err := next()
		if err != nil {
			return 0, err
		}
		if b == nil {
			err = finish(0)
			return objective, err
		}
		if !p.staged {
			if err := l.stage(b); err != nil {
				return 0, err
			}
		}
		if err := l.Start(p.Pass); err != nil {
			return 0, err
		}
		working = append(working, l.facts(b))
		if err := finish(l.Devices()); err != nil {
			return 0, err
		}
	}
}

// blend tells the device the shares of the step that comes next: those of schedules.
func (l *link) blend() error {
	for k, i := range l.losses {
		if m := l.t.cfg.Losses[i].Mix; m != nil && m.Schedule != nil {
			if err := l.Blend(k, float32(m.At(l.t.progress.Step))); err != nil {
				return fmt.Errorf("change the blend of %s: %w", l.t.cfg.Losses[i].Metric, err)
			}
		}
	}
	return nil
}

// stage copies a micro-batch, or the names of its rows, to the device.
func (l *link) stage(b *encoding.TrainBatch) error {
	if b.Kept.Of != nil {
		return l.window.stage(b)
	}
	return l.Stage(b)
}

// halfSquares is the L2 loss of the weights.
func (l *link) halfSquares() (float64, error) {
	if err := l.pull(false); err != nil {
		return 0, err
	}
	sum := 0.0
	for i, s := range l.t.specs {
		if s.Kind == nn.Weight {
			sum += kernel.SumSquares(l.t.net.Params[i].Data)
		}
	}
	return sum / 2, nil
}

// refresh gives the device the averaged weights for a while.
func (l *link) refresh(next func() (*encoding.TrainBatch, pass, error)) (err error) {
	if err := l.pull(true); err != nil {
		return err
	}
	lent := l.state()
	lent.Params, lent.SWA = lent.SWA, nil
	defer func() { err = errors.Join(err, l.push()) }()
	if err := errors.Join(l.Upload(lent), l.BeginStep()); err != nil {
		return err
	}
	if _, err := l.run(next, newSums(len(l.t.cfg.Losses))); err != nil {
		return err
	}
	return l.KeepRunning(l.t.swa.params)
}
