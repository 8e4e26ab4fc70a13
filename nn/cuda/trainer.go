package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
	"github.com/chessbrain/chessbrain/nn/device"
)

var _ device.Trainer = (*Trainer)(nil)

// Trainer is a net in training on a device; it implements device.Trainer.
type Trainer struct {
	dev    *Device
	cfg    device.Config
	typ    kernels.Type
	act    int32
	layout *layout
	mem    memory

	params, grads, swa   driver.Ptr // [layout.trained]
	moments              []driver.Ptr
	running, pending     driver.Ptr // [layout.running]
	swaRunning, decay    driver.Ptr
	normParts, stepState driver.Ptr
	ahead                device.Lookahead // of NAdamW
	stateHost            []byte

	convs   []*conv
	entries driver.Ptr
	planes  driver.Ptr // T [capacity*64][112]
	body    body
	heads   []head
	// auxiliary is that of heads, nil where it has no losses.
	auxiliary *scalarHead

	// Scratch of the backward pass. Activations: grad is the gradient of the body's,
	// on its way down, inner and outer are of one layer of a tower.
	grad, inner, outer                   driver.Ptr
	sums, dynSums, dynScale, dynShift, k driver.Ptr
	widest                               int // of the units' padded channels
	part                                 driver.Ptr
	partBytes                            int
	attention                            attentionScratch

	compute, copies driver.Stream
	slots           [2]*rowSlot
	staged          []*rowSlot // copied and not yet started, in order
	started         []*rowSlot // started and not yet finished
	next            int        // slot of the next Stage
	window          *window    // rows that are kept; nil = none
}

// body is a net without its heads. forward returns its activations, of the width of the
// architecture; backward takes t.grad, their gradient, to the weights.
type body interface {
	forward(q *queue, boards int) driver.Ptr
	backward(q *queue, boards int)
}

// queue collects the work of a pass on the compute stream; the first error sticks.
type queue struct {
	t          *Trainer
	pass       device.Pass
	slot       *rowSlot
	accumulate int32
	prepare    bool // kernels are made ready and not run
	err        error
}

func (q *queue) do(launches ...kernels.Launch) {
	for _, l := range launches {
		switch {
		case q.err != nil:
		case q.prepare:
			q.err = q.t.dev.kernels.Prepare(l)
		default:
			q.err = q.t.dev.kernels.Run(q.t.compute, l)
		}
	}
}

// NewTrainer makes room for a net and its optimizer; Upload gives it weights.
func (d *Device) NewTrainer(cfg device.Config) (*Trainer, error) {
	typ, err := d.storage(cfg.Precision)
	if err := cmp.Or(err, cfg.Arch.Validate(), Computes(cfg.Arch)); err != nil {
		return nil, err
	}
	t := &Trainer{dev: d, cfg: cfg, typ: typ, act: activation(cfg.Arch.Activation), layout: newLayout(cfg.Arch), mem: memory{d: d.driver}, ahead: device.Lookahead{Beta1: cfg.Beta1, Decay: cfg.MomentumDecay}}
	t.cfg.Terms = slices.Clone(cfg.Terms)
	if err := t.build(); err != nil {
		return nil, errors.Join(fmt.Errorf("training on %s with micro-batches of %d: %w", d.Info().Name, cfg.Capacity, err), t.Close())
	}
	return t, nil
}

// activations allocates [capacity*64][padded] in the storage type.
func (t *Trainer) activations(padded int) driver.Ptr {
	return t.mem.alloc(t.cfg.Capacity * 64 * padded * t.typ.Size())
}

// constant allocates memory for data that never changes and copies it.
func (t *Trainer) constant(data []byte) driver.Ptr {
	p := t.mem.alloc(len(data))
	if t.mem.err == nil {
		t.mem.err = t.compute.CopyToDevice(p, data)
	}
	return p
}

func (t *Trainer) build() (err error) {
	t.compute, t.copies = t.mem.stream(), t.mem.stream()
	l, n := t.layout, t.cfg.Capacity
	t.params, t.grads, t.swa = t.mem.floats(l.trained), t.mem.floats(l.trained), t.mem.floats(l.trained)
	for range t.cfg.NumMoments() {
		t.moments = append(t.moments, t.mem.floats(l.trained))
	}
	t.running, t.pending, t.swaRunning = t.mem.floats(l.running), t.mem.floats(l.running), t.mem.floats(l.running)
	t.decay = t.constant(l.decay)
	t.normParts = t.mem.alloc(16 * kernels.PrepareGradientParts(l.trained))
	t.stepState, t.stateHost = t.mem.alloc(stepStateBytes), t.mem.host(stepStateBytes)

	t.planes = t.activations(encoding.NumPlanes)
	if t.cfg.Arch.Attention() {
		t.body = newAttentionBody(t)
	} else {
		t.body = newTowerBody(t)
	}
	if err := t.buildHeads(); err != nil {
		return err
	}
	width := kernels.Pad(t.cfg.Arch.Width())
	t.grad = t.activations(width)
	t.sums, t.k = t.mem.floats(n*2*t.widest), t.mem.floats(3*t.widest)
	t.attention.alloc(t)
	t.part = t.mem.alloc(t.partBytes)
	entries := make([]kernels.PackEntry, len(t.convs))
	for i, c := range t.convs {
		entries[i] = c.entry()
	}
	t.entries = t.constant(bytesOf(entries))
	if t.mem.err != nil {
		return t.mem.err
	}
	for i := range t.slots {
		if t.slots[i], err = newRowSlot(t); err != nil {
			return err
		}
	}
	// Heads without a loss keep a gradient of zero.
	if err := t.compute.Memset(t.grads, 0, 4*t.layout.trained); err != nil {
		return err
	}
	return t.compute.Synchronize()
}

// Devices implements device.Trainer.
func (t *Trainer) Devices() int { return 1 }

// Precision implements device.Trainer.
func (t *Trainer) Precision() (device.Precision, string) { return t.cfg.Precision, "" }

// Blend implements device.Trainer. Captured passes have the old ratio in them.
func (t *Trainer) Blend(term int, ratio float32) error {
	if t.cfg.Terms[term].Ratio == ratio {
		return nil
	}
	t.cfg.Terms[term].Ratio = ratio
	return errors.Join(t.compute.Synchronize(), destroyAll(t.slots[0].graphs), destroyAll(t.slots[1].graphs))
}

// Stage implements device.Trainer.
func (t *Trainer) Stage(b *encoding.TrainBatch) error {
	return t.stage(func(s *rowSlot) error { return s.fill(b) })
}

// stage gives the next slot to fill.
func (t *Trainer) stage(fill func(*rowSlot) error) error {
	s := t.slots[t.next]
	if slices.Contains(t.staged, s) || slices.Contains(t.started, s) {
		return errors.New("two micro-batches are staged and not finished")
	}
	if err := fill(s); err != nil {
		return fmt.Errorf("copy a micro-batch to the device: %w", err)
	}
	t.next = 1 - t.next
	t.staged = append(t.staged, s)
	return nil
}

// Start implements device.Trainer.
func (t *Trainer) Start(p device.Pass) error {
	if len(t.staged) == 0 {
		return errors.New("no micro-batch is staged")
	}
	if p.Backward && p.Running {
		return errors.New("no gradients with running statistics: the batch's are wanted")
	}
	s := t.staged[0]
	if err := t.compute.Wait(s.copied); err != nil {
		return err
	}
	if err := t.launch(s, p); err != nil {
		return fmt.Errorf("forward and backward pass: %w", err)
	}
	if err := t.compute.CopyToHost(s.results, s.resultsThere); err != nil {
		return err
	}
	if err := t.compute.Record(s.measured); err != nil {
		return err
	}
	t.staged, t.started = t.staged[1:], append(t.started, s)
	return nil
}

// maxGraphs bounds the captured passes of a slot: a loss scale that changes makes
// new ones.
const maxGraphs = 8

// launch puts a pass on the stream: a full batch as a captured graph, as some
// hundred small launches cost more than they compute for a small net. A pass with a
// BNMomentum of its own does not come again.
func (t *Trainer) launch(s *rowSlot, p device.Pass) error {
	if s.boards != t.cfg.Capacity || p.BNMomentum != 0 {
		return t.enqueue(&queue{t: t, pass: p, slot: s})
	}
	if g := s.graphs[p]; g != nil {
		return t.compute.LaunchGraph(g)
	}
	if len(s.graphs) >= maxGraphs {
		if err := t.compute.Synchronize(); err != nil {
			return err
		}
		if err := destroyAll(s.graphs); err != nil {
			return err
		}
	}
	if err := t.enqueue(&queue{t: t, pass: p, slot: s, prepare: true}); err != nil {
		return err
	}
	g, err := capture(t.compute, func() error { return t.enqueue(&queue{t: t, pass: p, slot: s}) })
	if err != nil {
		return err
	}
	s.graphs[p] = g
	return t.compute.LaunchGraph(g)
}

// enqueue puts the kernels of a pass on the stream, or prepares them.
func (t *Trainer) enqueue(q *queue) error {
	s, p := q.slot, q.pass
	if !p.First {
		q.accumulate = 1
	}
	n := s.boards
	q.do(kernels.Expand(t.typ, kernels.ExpandArgs{Masks: s.part(partMasks), Scalars: s.part(partScalars), Planes: t.planes, Boards: int32(n)}))
	x := t.body.forward(q, n)
	for _, h := range slices.Backward(t.heads) { // the auxiliary head first: the policy's losses may ask for it
		h.forward(q, n, x)
	}
	if p.Backward {
		for i, h := range t.heads {
			h.backward(q, n, x, i > 0)
		}
		t.body.backward(q, n)
	}
	return q.err
}

// Finish implements device.Trainer.
func (t *Trainer) Finish(out *device.Rows) error {
	if len(t.started) == 0 {
		return errors.New("no pass is started")
	}
	s := t.started[0]
	t.started = t.started[1:]
	if err := s.measured.Synchronize(); err != nil {
		return fmt.Errorf("forward and backward pass: %w", err)
	}
	s.read(out)
	return nil
}

// Drop implements device.Trainer.
func (t *Trainer) Drop() error {
	t.staged, t.started = nil, nil
	return errors.Join(t.copies.Synchronize(), t.compute.Synchronize())
}

// Close gives the device's memory back.
func (t *Trainer) Close() error {
	var errs []error
	for _, st := range []driver.Stream{t.copies, t.compute} {
		if st == nil {
			continue
		}
		if err := st.Synchronize(); err != nil && len(errs) == 0 {
			errs = append(errs, err)
		}
	}
	for _, s := range t.slots {
		if s != nil {
			errs = append(errs, destroyAll(s.graphs), s.movesMem.free())
		}
	}
	return errors.Join(append(errs, t.closeWindow(), t.mem.free())...)
}
