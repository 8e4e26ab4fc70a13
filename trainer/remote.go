package trainer

import (
	"errors"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// remote trains on a device, which holds weights, moments and average; the
// trainer's memory is their mirror. While the device works on a micro-batch the
// next one is read and copied to it. Between two steps a source has given exactly what
// was trained on, so that its position can be saved: the first micro-batch of the next
// step is on its way only where the source lets it be peeked at.
type remote struct {
	t      *Trainer
	dev    device.Trainer
	rows   device.Rows
	losses []int         // by term: the loss of the configuration
	notes  [2]batchFacts // of the newest micro-batch, notes[turn], and of the one before it
	turn   int
	window *remoteWindow // nil = there is none
	// The micro-batch that the device has ahead of its step, and whose it is; nil = none.
	ahead  *encoding.TrainBatch
	peeked Peeker
	ticket uint64
	// The device has newer ones than the trainer's memory.
	newerNet, newerRest bool
}

// newRemote opens the device for t and gives it the net.
func newRemote(t *Trainer) (*remote, error) {
	r := &remote{t: t}
	c := &t.cfg
	want := device.Config{
		Arch: t.net.Arch, Capacity: c.BatchSize, Precision: c.Precision, BNMomentum: float32(c.BNMomentum),
		Optimizer: c.Optimizer, Momentum: float32(c.Momentum), Beta1: float32(c.Beta1), Beta2: float32(c.Beta2),
		Epsilon: float32(c.Epsilon), Decay: float32(c.WeightDecay), L2: float32(c.l2Weight()),
	}
	for i := range c.Losses {
		if c.Losses[i].Head != HeadWeights {
			want.Terms, r.losses = append(want.Terms, c.Losses[i].term()), append(r.losses, i)
		}
	}
	var err error
	if r.dev, err = c.Device(want); err != nil {
		return nil, fmt.Errorf("trainer: %w", err)
	}
	t.opt = t.newOptimizer(nil)
	err = r.push()
	if err == nil {
		err = r.openWindow(c.Window)
	}
	if err != nil {
		return nil, errors.Join(err, r.dev.Close())
	}
	return r, nil
}

// term is a loss in the device's words.
func (l *Loss) term() device.Term {
	t := device.Term{Weight: float32(l.Weight), Target: l.Target}
	switch l.Head {
	case HeadPolicy:
		t.Head = device.Policy
	case HeadValue:
		t.Head = device.Value
	case HeadMovesLeft:
		t.Head = device.MovesLeft
	}
	if l.Mix != nil {
		t.Other, t.Ratio = l.Mix.Other, float32(l.Mix.QRatio)
	}
	return t
}

// state is the trainer's memory as the device sees it.
func (r *remote) state() *device.State {
	s := &device.State{Params: r.t.paramData(), SWA: r.t.swa.params}
	for _, m := range r.t.opt.Moments() {
		s.Moments = append(s.Moments, m.Data)
	}
	return s
}

func (r *remote) push() error {
	if err := r.dev.Upload(r.state()); err != nil {
		return fmt.Errorf("copy the state to the device: %w", err)
	}
	r.newerNet, r.newerRest = false, false
	return nil
}

func (r *remote) pull(all bool) error {
	s := r.state()
	if !r.newerNet {
		s.Params = nil
	}
	if !all || !r.newerRest {
		s.Moments, s.SWA = nil, nil
	}
	if s.Params == nil && s.Moments == nil {
		return nil
	}
	if err := r.dev.Download(s); err != nil {
		return fmt.Errorf("copy the state from the device: %w", err)
	}
	r.newerNet, r.newerRest = false, r.newerRest && !all
	return nil
}

// lookAhead copies the next step's first micro-batch to the device, if src shows it.
// It is called while the device works on the last one of this step.
func (r *remote) lookAhead(src BatchSource) error {
	p, ok := src.(Peeker)
	if !ok {
		return nil
	}
	if r.ahead == nil {
		r.ahead = encoding.NewTrainBatch(r.t.cfg.BatchSize)
	}
	r.ahead.Reset()
	ticket, ok := p.Peek(r.ahead)
	if !ok || r.t.checkBatch(r.ahead) != nil { // Next says what is wrong with it
		return nil
	}
	if err := r.stage(r.ahead); err != nil {
		return err
	}
	r.peeked, r.ticket = p, ticket
	return nil
}

// takeAhead makes the micro-batch that was copied ahead the trainer's, if it is still
// src's next one; else the device forgets it.
func (r *remote) takeAhead(src BatchSource) (ok bool, err error) {
	if r.peeked == nil {
		return false, nil
	}
	if r.peeked == src && r.peeked.Take(r.ticket) {
		r.peeked = nil
		r.t.batch, r.ahead = r.ahead, r.t.batch
		return true, nil
	}
	return false, r.forget()
}

// forget lets go of a micro-batch that was copied ahead; it was not taken.
func (r *remote) forget() error {
	if r.peeked == nil {
		return nil
	}
	r.peeked = nil
	return r.dev.Drop()
}

func (r *remote) begin() error { return r.dev.BeginStep() }

// run keeps one micro-batch on its way to the device while it works on another.
func (r *remote) run(next func() (*encoding.TrainBatch, pass, error), s *sums) (objective float64, err error) {
	defer func() {
		if err == nil {
			return
		}
		r.peeked = nil
		if dropErr := r.dev.Drop(); dropErr != nil {
			err = errors.Join(err, dropErr)
		}
	}()
	var working *batchFacts // of the batch that the device works on; nil = none
	finish := func() error {
		if working == nil {
			return nil
		}
		if err := r.dev.Finish(&r.rows); err != nil {
			return err
		}
		objective += r.collect(working, s)
		working = nil
		return nil
	}
	for {
		b, p, err := next()
		if err != nil {
			return 0, err
		}
		if b == nil {
			return objective, finish()
		}
		if !p.staged {
			if err := r.stage(b); err != nil {
				return 0, err
			}
		}
		if err := r.dev.Start(device.Pass{Backward: p.train, First: p.first, Running: p.mode == runningStats,
			LossScale: float32(p.lossScale), BNMomentum: float32(p.bnMomentum)}); err != nil {
			return 0, err
		}
		facts := r.facts(b)
		if err := finish(); err != nil {
			return 0, err
		}
		working = facts
	}
}

// stage copies a micro-batch, or the names of its rows, to the device.
func (r *remote) stage(b *encoding.TrainBatch) error {
	if b.Kept.Of != nil {
		return r.window.stage(b)
	}
	return r.dev.Stage(b)
}

// batchFacts is what the host knows of a micro-batch that the device works on.
type batchFacts struct {
	weights []float32
	rows    []rowFacts
}

// rowFacts is what the host knows of a row, 16 bytes.
type rowFacts struct {
	entropy    float64            // of the policy target, nats, where it is known
	known      uint32             // bit k: the target of term k
	legal      uint16             // moves
	symmetries encoding.Transform // encoding.Batch.NumSymmetries
}

// facts takes down what collect needs of b, while the device works.
func (r *remote) facts(b *encoding.TrainBatch) *batchFacts {
	r.turn = 1 - r.turn
	f := &r.notes[r.turn]
	f.weights, f.rows = append(f.weights[:0], b.Weight[:b.N]...), f.rows[:0]
	for row := range b.N {
		if b.Kept.Of != nil {
			f.rows = append(f.rows, *r.window.row(b.Kept.Number[row]))
		} else {
			f.rows = append(f.rows, r.factsOf(b, row))
		}
	}
	return f
}

// factsOf is facts of one row of a batch with contents.
func (r *remote) factsOf(b *encoding.TrainBatch, row int) rowFacts {
	f := rowFacts{legal: uint16(len(b.LegalOf(row))), symmetries: b.NumSymmetries(row)}
	for k, i := range r.losses {
		l := &r.t.cfg.Losses[i]
		if !l.known(b, row) {
			continue
		}
		f.known |= 1 << k
		if l.Head == HeadPolicy {
			f.entropy = entropy(b.PolicyOf(row))
		}
	}
	return f
}

// collect adds the measures of a micro-batch to s, slice by slice as the host
// does, and returns its objective.
func (r *remote) collect(f *batchFacts, s *sums) float64 {
	n, slice := len(f.weights), sliceBoards(r.t.cfg.BatchSize)
	objective := 0.0
	for lo := 0; lo < n; lo += slice {
		hi := min(lo+slice, n)
		for k, i := range r.losses {
			l := &r.t.cfg.Losses[i]
			var loss, hit, own, target, legal tally
			for row := lo; row < hi; row++ {
				known := &f.rows[row]
				if known.known>>k&1 == 0 {
					continue
				}
				m, w := r.rows.Terms[k][row], float64(f.weights[row])
				loss.add(float64(m.Loss), w)
				hit.add(float64(m.Hit), w)
				if l.Head == HeadPolicy {
					own.add(float64(r.rows.Entropy[row]), w)
					target.add(known.entropy, w)
					legal.add(math.Log(float64(known.legal)), w)
				}
			}
			objective += l.Weight * loss.wx
			s.losses[i].merge(&loss)
			s.hits[i].merge(&hit)
			s.entropy.merge(&own)
			s.target.merge(&target)
			s.legal.merge(&legal)
		}
	}
	return objective / float64(n)
}

// known says whether the target of row i is.
func (l *Loss) known(b *encoding.TrainBatch, i int) bool {
	if l.Head == HeadPolicy {
		mass := 0.0
		for _, p := range b.PolicyOf(i) {
			mass += float64(p)
		}
		return mass > 0
	}
	t := l.target(&b.Targets[i])
	switch l.Kind {
	case WDLCrossEntropy:
		sum := 0.0
		for _, p := range wdlTarget(t) {
			sum += float64(p)
		}
		return sum > 0
	case Huber:
		return t.M == t.M
	}
	return t.Q == t.Q
}

func (r *remote) update(u update) (updated, error) {
	want := device.Update{Scale: float32(u.scale), ClipNorm: float32(r.t.cfg.ClipNorm), LR: float32(u.lr), Step: r.t.opt.Steps(), Objective: u.objective}
	if u.average {
		want.SWAKeep, want.SWAAdd = r.t.swa.shares()
	}
	d, err := r.dev.Update(want)
	if err != nil {
		return updated{}, err
	}
	if d.Finite {
		r.t.opt.SetSteps(want.Step + 1)
		r.newerNet, r.newerRest = true, true
		if u.average {
			r.t.swa.reserve(r.t.paramData())
		}
	}
	return updated{gradNorm: d.GradNorm, halfSquares: d.HalfSquares, finite: d.Finite}, nil
}

func (r *remote) halfSquares() (float64, error) {
	if err := r.pull(false); err != nil {
		return 0, err
	}
	sum := 0.0
	for i, s := range r.t.specs {
		if decays(s) {
			sum += kernel.SumSquares(r.t.net.Params[i].Data)
		}
	}
	return sum / 2, nil
}

// refresh gives the device the averaged weights for a while.
func (r *remote) refresh(next func() (*encoding.TrainBatch, pass, error)) (err error) {
	if err := r.pull(true); err != nil {
		return err
	}
	lent := r.state()
	lent.Params, lent.SWA = lent.SWA, nil
	defer func() { err = errors.Join(err, r.push()) }()
	if err := errors.Join(r.dev.Upload(lent), r.dev.BeginStep()); err != nil {
		return err
	}
	if _, err := r.run(next, newSums(len(r.t.cfg.Losses))); err != nil {
		return err
	}
	return r.dev.KeepRunning(r.t.swa.params)
}

func (r *remote) close() error { return r.dev.Close() }
