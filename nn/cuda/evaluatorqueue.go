package cuda

import (
	"fmt"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
)

// request is one call of Evaluate. Its positions go to the device in order, in as
// many batches as they need.
type request struct {
	total int // positions
	taken int // positions given to batches; under Evaluator.mu
	done  chan struct{}

	mu   sync.Mutex      // held while b is read or written
	b    *encoding.Batch // nil when r has ended: it is the caller's again
	left int             // positions without an answer
	err  error           // valid once done is closed
}

func (e *Evaluator) enqueue(r *request) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fmt.Errorf("evaluate: %w", ErrClosed)
	}
	e.queue = append(e.queue, r)
	e.waiting += r.total
	e.wake()
	return nil
}

// abandon ends r with err unless it is done; what waits of it leaves the queue.
func (e *Evaluator) abandon(r *request, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.Index(e.queue, r); i >= 0 {
		e.queue = slices.Delete(e.queue, i, i+1)
		e.waiting -= r.total - r.taken
	}
	r.fail(err)
}

// fail ends r with err unless it has ended.
func (r *request) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(err)
}

// end is fail for a caller that holds r.mu.
func (r *request) end(err error) {
	if r.b != nil {
		r.b, r.err = nil, err
		close(r.done)
	}
}

// due says whether a batch should begin: something waits, and the device is idle or
// there is half as much as it works on. Smaller batches would only slow that down.
func (e *Evaluator) due() bool {
	return e.waiting > 0 && (2*e.waiting >= e.running || e.waiting >= e.maxBatch)
}

// wake lets a free slot take a batch that is due. The caller holds e.mu.
func (e *Evaluator) wake() {
	if e.due() {
		e.changed.Signal()
	}
}

// piece is the positions [lo, hi) of a request, in a batch.
type piece struct {
	r      *request
	lo, hi int
	at     int // position of the batch
	legal  int // of the batch's legal moves
}

// serve takes and runs batches on a slot until the evaluator is closed.
func (e *Evaluator) serve(s *slot) {
	for {
		pieces, n, net := e.take(s.pieces[:0])
		if net == nil {
			return
		}
		s.pieces = pieces
		if err := s.run(net, pieces); err != nil {
			for _, p := range pieces {
				p.r.fail(fmt.Errorf("evaluate: %w", err))
			}
		}
		clear(s.pieces)
		// As in Swap.
		_ = net.release()
		e.mu.Lock()
		e.running -= n
		e.wake()
		e.mu.Unlock()
	}
}

// take waits until a batch is due and appends its pieces, n positions; the net is
// retained for it, and nil when the evaluator is closed.
func (e *Evaluator) take(pieces []piece) (_ []piece, n int, net *Net) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for n == 0 {
		for !e.closed && !e.due() {
			e.changed.Wait()
		}
		if e.closed {
			return nil, 0, nil
		}
		pieces, n = e.collect(pieces)
	}
	e.running += n
	e.net.retain()
	e.wake() // there may be more than one batch takes
	return pieces, n, e.net
}

// collect moves positions from the queue to a batch. The caller holds e.mu.
func (e *Evaluator) collect(pieces []piece) (_ []piece, n int) {
	room, legal := min(e.maxBatch, e.net.form.limit()), legalCapacity(e.maxBatch)
	for len(e.queue) > 0 && n < room {
		r := e.queue[0]
		lo := r.taken
		hi, moves, ended := r.fit(room-n, legal)
		if !ended {
			if hi == lo {
				break // the moves of the next position do not fit
			}
			pieces = append(pieces, piece{r: r, lo: lo, hi: hi})
			n, legal = n+hi-lo, legal-moves
		}
		r.taken = hi
		e.waiting -= hi - lo
		if hi == r.total {
			e.queue = e.queue[1:]
		}
	}
	return pieces, n
}

// fit returns the end of the positions from r.taken on that fit into a batch with room
// for some positions and legal moves, and their moves; or that r has ended, as one that
// failed in an earlier batch.
func (r *request) fit(room, legal int) (hi, moves int, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.b == nil {
		return r.total, 0, true
	}
	start := r.b.LegalStart[r.taken:]
	n := min(room, r.total-r.taken)
	for n > 0 && int(start[n]-start[0]) > legal {
		n--
	}
	return r.taken + n, int(start[n] - start[0]), false
}
