package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// legalPerPosition is the room for legal moves, about twice what games have.
const legalPerPosition = 64

// legalCapacity is the legal moves that a batch has room for; at least those of one
// position, however many.
func legalCapacity(maxBatch int) int { return maxBatch*legalPerPosition + encoding.NumPolicy }

// slot carries one batch at a time: memory, a stream and the captured launches of
// the sizes that came by. It is used by one goroutine.
type slot struct {
	dev      *Device
	maxBatch int
	stream   driver.Stream
	mem      memory
	hostIn   []byte // page-locked, like hostOut
	hostOut  []byte
	in, out  driver.Ptr
	pieces   []piece // scratch of the evaluator

	net    *Net                 // that graphs are of
	graphs map[int]driver.Graph // by bucket
	work   memory               // activations
	workAt driver.Ptr
}

func newSlot(d *Device, maxBatch int) (*slot, error) {
	s := &slot{dev: d, maxBatch: maxBatch, graphs: map[int]driver.Graph{}}
	s.mem.d, s.work.d = d.driver, d.driver
	l := newBatchLayout(maxBatch)
	in, out := l.inBytes(legalCapacity(maxBatch)), l.outBytes(legalCapacity(maxBatch))
	s.in, s.out = s.mem.alloc(in), s.mem.alloc(out)
	s.hostIn, s.hostOut = s.mem.host(in), s.mem.host(out)
	if s.stream = s.mem.stream(); s.mem.err != nil {
		return nil, errors.Join(s.mem.err, s.mem.free())
	}
	return s, nil
}

func (s *slot) free() error {
	return errors.Join(destroyAll(s.graphs), s.mem.free(), s.work.free())
}

// batchLayout is where the parts of a batch lie in a slot's memory. It depends on the
// bucket alone, so that the captured addresses hold; the parts of variable length
// come last, so that one copy each way moves no more than there is.
type batchLayout struct {
	masks, scalars, start, legal int // of the input, which begins with the number of positions
	movesLeft, prior             int // of the output, which begins with WDL
}

func newBatchLayout(bucket int) batchLayout {
	var l batchLayout
	l.masks = blobAlign
	l.scalars = l.masks + bucket*encoding.NumMasks*8
	l.start = roundUp(l.scalars+bucket*int(unsafe.Sizeof(encoding.Scalars{})), 16)
	l.legal = roundUp(l.start+4*(bucket+1), 16)
	l.movesLeft = 3 * 4 * bucket
	l.prior = l.movesLeft + 4*bucket
	return l
}

func (l batchLayout) inBytes(moves int) int  { return l.legal + 2*moves }
func (l batchLayout) outBytes(moves int) int { return l.prior + 4*moves }

// view returns n elements of T at an offset of page-locked memory, aligned for T.
func view[T any](b []byte, at, n int) []T {
	var one T
	b = b[at : at+n*int(unsafe.Sizeof(one))]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// run takes the pieces' positions through net and ends requests that have all their
// answers, or an output that is not finite.
func (s *slot) run(net *Net, pieces []piece) error {
	total := 0
	for _, p := range pieces {
		total += p.hi - p.lo
	}
	size := bucket(total, s.maxBatch)
	l := newBatchLayout(size)
	n, moves := s.fill(l, pieces)
	if n == 0 {
		return nil
	}
	if err := s.stream.CopyToDevice(s.in, s.hostIn[:l.inBytes(moves)]); err != nil {
		return fmt.Errorf("copy positions: %w", err)
	}
	graph, err := s.graph(net, size)
	if err != nil {
		return err
	}
	if err := s.stream.LaunchGraph(graph); err != nil {
		return fmt.Errorf("launch a batch of %d: %w", size, err)
	}
	if err := s.stream.CopyToHost(s.hostOut[:l.outBytes(moves)], s.out); err != nil {
		return fmt.Errorf("copy answers: %w", err)
	}
	if err := s.stream.Synchronize(); err != nil {
		return fmt.Errorf("batch of %d: %w", size, err)
	}
	s.scatter(l, pieces, n, moves)
	return nil
}

// fill copies the positions of requests that have not ended to page-locked memory,
// sets where each piece lies, and empties the others.
func (s *slot) fill(l batchLayout, pieces []piece) (n, moves int) {
	for i := range pieces {
		p := &pieces[i]
		p.r.mu.Lock()
		if b := p.r.b; b != nil {
			p.at, p.legal = n, moves
			count := p.hi - p.lo
			copy(view[[encoding.NumMasks]uint64](s.hostIn, l.masks, n+count)[n:], b.Masks[p.lo:p.hi])
			copy(view[encoding.Scalars](s.hostIn, l.scalars, n+count)[n:], b.Scalars[p.lo:p.hi])
			start, from := view[int32](s.hostIn, l.start, n+count+1)[n:], b.LegalStart[p.lo:p.hi+1]
			for j, at := range from {
				start[j] = int32(moves) + at - from[0]
			}
			legal := b.Legal[from[0]:from[count]]
			copy(view[uint16](s.hostIn, l.legal, moves+len(legal))[moves:], legal)
			n, moves = n+count, moves+len(legal)
		} else {
			p.hi = p.lo
		}
		p.r.mu.Unlock()
	}
	view[int32](s.hostIn, 0, 1)[0] = int32(n)
	return n, moves
}

// scatter copies the answers to the requests that still want them.
func (s *slot) scatter(l batchLayout, pieces []piece, n, moves int) {
	wdl := view[[3]float32](s.hostOut, 0, n)
	movesLeft := view[float32](s.hostOut, l.movesLeft, n)
	prior := view[float32](s.hostOut, l.prior, moves)
	for _, p := range pieces {
		p.r.mu.Lock()
		if b := p.r.b; b != nil {
			count := p.hi - p.lo
			to := b.Prior[b.LegalStart[p.lo]:b.LegalStart[p.hi]]
			copy(to, prior[p.legal:])
			copy(b.WDL[p.lo:p.hi], wdl[p.at:])
			copy(b.M[p.lo:p.hi], movesLeft[p.at:])
			p.r.left -= count
			if err := checkFinite(b, p.lo, p.hi); err != nil {
				p.r.end(err)
			} else if p.r.left == 0 {
				p.r.end(nil)
			}
		}
		p.r.mu.Unlock()
	}
}

// checkFinite returns ErrNotFinite with the head and the first of positions [lo, hi)
// whose answer is not finite. The kernels make all of an answer NaN then.
func checkFinite(b *encoding.Batch, lo, hi int) error {
	for i := lo; i < hi; i++ {
		for head, numbers := range [...][]float32{b.PriorOf(i), b.WDL[i][:], b.M[i : i+1]} {
			for _, x := range numbers {
				if x-x != 0 {
					return fmt.Errorf("evaluate: %w: %s of position %d; the weights have overflowed, or the activations have in fp16 (use bf16)",
						ErrNotFinite, [...]string{"policy", "value", "moves left"}[head], i)
				}
			}
		}
	}
	return nil
}
