package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
)

// Errors of an Evaluator.
var (
	// ErrNotFinite is wrapped where the net's output is NaN or infinite.
	ErrNotFinite = errors.New("the net's output is not finite")
	// ErrClosed is wrapped by Evaluate after Close.
	ErrClosed = errors.New("the evaluator is closed")
	// ErrBatch is wrapped where a batch is not one of positions with legal moves.
	ErrBatch = errors.New("the batch is not valid")
)

// numSlots is how many batches are under way at a time: one is copied to the device,
// one computes, one is copied back.
const numSlots = 3

// Evaluator answers batches with one net at a time. It is safe for use by many
// goroutines, and faster the more of them share it: positions that wait together go
// to the device together. Nothing waits while the device is idle. A position's
// answer does not depend on what it is batched with.
type Evaluator struct {
	dev      *Device
	maxBatch int
	slots    []*slot
	workers  sync.WaitGroup

	mu      sync.Mutex // before request.mu
	changed *sync.Cond // a request came, a batch ended, or closed
	net     *Net
	queue   []*request
	waiting int // positions in the queue
	running int // positions that slots have taken
	closed  bool
}

// NewEvaluator returns an evaluator of n, which the caller may close while it is
// used. Batches of up to maxBatch positions go to the device (4096 is enough to fill
// any); calls with more work too. It takes 4 KiB of page-locked memory a position of
// maxBatch and as much of the device's, for three batches. When batches come, their
// activations take there, for the three, 18 KiB a position with a fused net; with one
// that goes layer by layer, in batches of at most 1024, 3*64*(112+3.5*filters)
// numbers and 60 KiB; with attention, in batches of at most 256, what its layers give and
// 64*64 numbers a head with smolgen.
func (d *Device) NewEvaluator(n *Net, maxBatch int) (*Evaluator, error) {
	if maxBatch < 1 {
		return nil, fmt.Errorf("cuda: an evaluator of %d positions: want 1 or more", maxBatch)
	}
	e := &Evaluator{dev: d, maxBatch: maxBatch, net: n}
	e.changed = sync.NewCond(&e.mu)
	for range numSlots {
		s, err := newSlot(d, maxBatch)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cuda: evaluator of %d positions: %w", maxBatch, err), e.freeSlots())
		}
		e.slots = append(e.slots, s)
	}
	n.retain()
	for _, s := range e.slots {
		e.workers.Go(func() { e.serve(s) })
	}
	return e, nil
}

// ID returns the identity of the net in use.
func (e *Evaluator) ID() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.net.id
}

// Swap makes n, a net on the same device that is not closed, the net of batches that
// begin from now on. Those under way end with the net they began with. After Close it
// does nothing.
func (e *Evaluator) Swap(n *Net) {
	n.retain()
	e.mu.Lock()
	old := n // of a closed evaluator, which lets go of its net in Close
	if !e.closed {
		old, e.net = e.net, n
	}
	e.mu.Unlock()
	// A net that cannot be freed fails the device's Close; the new one works.
	_ = old.release()
}

// Close waits for batches under way, fails what waits with ErrClosed, and gives the
// memory back.
func (e *Evaluator) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	for _, r := range e.queue {
		r.fail(fmt.Errorf("evaluate: %w", ErrClosed))
	}
	e.queue, e.waiting = nil, 0
	e.changed.Broadcast()
	e.mu.Unlock()
	e.workers.Wait()
	return errors.Join(e.freeSlots(), e.net.release())
}

func (e *Evaluator) freeSlots() error {
	var errs []error
	for _, s := range e.slots {
		errs = append(errs, s.free())
	}
	e.slots = nil
	return errors.Join(errs...)
}

// Evaluate fills Prior, WDL and M of b's N positions; M is 0 where the net has no
// such head, and a scalar value v gives WDL ((1+v)/2, 0, (1-v)/2). It returns early
// when ctx ends. After an error (the context's, or one that wraps ErrNotFinite,
// ErrBatch, ErrClosed or the device's) the answers are not to be used; b is the
// caller's in any case.
func (e *Evaluator) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("evaluate: %w", err)
	}
	if err := checkBatch(b); err != nil || b.N == 0 {
		return err
	}
	r := &request{b: b, total: b.N, left: b.N, done: make(chan struct{})}
	if err := e.enqueue(r); err != nil {
		return err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		e.abandon(r, fmt.Errorf("evaluate: %w", ctx.Err()))
		return r.err
	}
}

// checkBatch returns why b cannot be evaluated, or nil.
func checkBatch(b *encoding.Batch) error {
	n := b.N
	if len(b.LegalStart) <= n || len(b.Masks) < n || len(b.Scalars) < n || len(b.WDL) < n || len(b.M) < n {
		return fmt.Errorf("evaluate: %w: its slices are shorter than its %d positions", ErrBatch, n)
	}
	for i := range n {
		lo, hi := b.LegalStart[i], b.LegalStart[i+1]
		if lo < 0 || hi < lo || hi-lo > encoding.NumPolicy || int(hi) > min(len(b.Legal), len(b.Prior)) {
			return fmt.Errorf("evaluate: %w: the legal moves of position %d are [%d:%d] of %d", ErrBatch, i, lo, hi, len(b.Legal))
		}
		for _, p := range b.Legal[lo:hi] {
			if p >= encoding.NumPolicy {
				return fmt.Errorf("evaluate: %w: position %d has policy index %d, want below %d", ErrBatch, i, p, encoding.NumPolicy)
			}
		}
	}
	return nil
}
