package replay

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Cursor is a batch source whose position can be saved; *Source is one.
type Cursor interface {
	Next(ctx context.Context, b *encoding.TrainBatch) error
	Section() stage.Section

	// Version changes when the rows to come do, as when a game enters the
	// window. Safe to call while Next runs.
	Version() uint64
}

// Prefetcher prepares batches in a goroutine of its own while the trainer
// works. Its methods are called by one goroutine.
//
// It is exact: Next returns the rows that the source itself would have returned
// at that moment, and the section holds the position after the rows that were
// consumed, not those prepared. Batches prepared before the window changed are
// thrown away and drawn again. Where each batch has a window of its own, as with one
// step after each game, nothing is prepared: it would all be thrown away.
type Prefetcher struct {
	src   Cursor
	depth int

	state    []byte // of src after the last batch consumed
	stateErr error
	run      *prefetchRun // nil while nothing is prepared
	closed   bool
	redrawn  uint64 // prepared batches thrown away, for tests

	version        uint64 // of the window at the last Next
	before, served int    // batches of the window before that one, and of that one

	peeked *prefetched // taken from the run by Peek, and not by the consumer; nil = none
	ticket uint64      // of peeked
}

// prefetchRun is one life of the goroutine. While it lives it owns the source.
type prefetchRun struct {
	rows   int
	items  chan prefetched // capacity depth; the goroutine waits when it is full
	free   chan *encoding.TrainBatch
	cancel context.CancelFunc
	done   chan struct{}
}

// prefetched is a batch, and the source's position after it.
type prefetched struct {
	batch   *encoding.TrainBatch
	version uint64
	state   []byte
	err     error
}

// Prefetch returns src with up to depth (at least 1) batches prepared in
// advance. src must not be used by anyone else until Close.
func Prefetch(src Cursor, depth int) *Prefetcher {
	p := &Prefetcher{src: src, depth: max(1, depth), served: 2} // as if there had been a window of several batches
	p.state, p.stateErr = saveState(src)
	return p
}

// Next fills b as the source would; see Source.Next. After an error the
// position is that before the call.
func (p *Prefetcher) Next(ctx context.Context, b *encoding.TrainBatch) error {
	if p.closed {
		return fmt.Errorf("prefetcher: %w", ErrClosed)
	}
	if p.stateErr != nil {
		return p.stateErr
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.run != nil && p.run.rows != len(b.Masks) {
		if err := p.rewind(); err != nil {
			return err
		}
	}
	if v := p.src.Version(); v != p.version {
		p.version, p.before, p.served = v, p.served, 0
	}
	p.served++
	if max(p.before, p.served) < 2 {
		if p.run != nil {
			if err := p.rewind(); err != nil {
				return err
			}
		}
		return p.draw(ctx, b)
	}
	if p.run == nil {
		p.start(len(b.Masks))
	}
	it := p.peeked
	if p.peeked = nil; it == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case next := <-p.run.items:
			it = &next
		}
	}
	switch {
	case it.version != p.src.Version():
		return p.redraw(ctx, b)
	case it.err == nil:
		b.CopyFrom(it.batch)
		p.consume(it)
		return nil
	}
	return cmp.Or(p.rewind(), it.err)
}

// consume moves the consumer's position behind it.
func (p *Prefetcher) consume(it *prefetched) {
	p.run.free <- it.batch
	p.state = it.state
}

// Peek fills b with the batch that Next would give now, if it is ready, and takes
// nothing: the position stays. Take takes it in the place of Next.
func (p *Prefetcher) Peek(b *encoding.TrainBatch) (ticket uint64, ok bool) {
	if p.closed || p.stateErr != nil || p.run == nil || p.run.rows != len(b.Masks) {
		return 0, false
	}
	if p.peeked == nil {
		select {
		case it := <-p.run.items:
			p.peeked = &it
			p.ticket++
		default:
			return 0, false
		}
	}
	if !p.current() {
		return 0, false
	}
	b.CopyFrom(p.peeked.batch)
	return p.ticket, true
}

// current says whether the peeked batch is what the source would give now.
func (p *Prefetcher) current() bool {
	return p.peeked != nil && p.peeked.err == nil && p.peeked.version == p.src.Version()
}

// Take takes the batch that was peeked with this ticket. False: it is not what Next
// would give any more, and nothing was taken.
func (p *Prefetcher) Take(ticket uint64) bool {
	if p.closed || ticket != p.ticket || !p.current() {
		return false
	}
	p.consume(p.peeked)
	p.peeked = nil
	return true
}

// redraw throws away what is prepared and draws b from the window as it is now.
func (p *Prefetcher) redraw(ctx context.Context, b *encoding.TrainBatch) error {
	p.redrawn += uint64(1 + len(p.run.items))
	rows := p.run.rows
	if err := p.rewind(); err != nil {
		return err
	}
	if err := p.draw(ctx, b); err != nil {
		return err
	}
	p.start(rows)
	return nil
}

// draw fills b from the source, which is where the consumer is.
func (p *Prefetcher) draw(ctx context.Context, b *encoding.TrainBatch) error {
	if err := p.src.Next(ctx, b); err != nil {
		b.Reset()
		return cmp.Or(loadState(p.src, p.state), err)
	}
	state, err := saveState(p.src)
	if err == nil {
		p.state = state
	}
	return err
}

// start begins to prepare batches from the source's position.
func (p *Prefetcher) start(rows int) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &prefetchRun{rows: rows, items: make(chan prefetched, p.depth), free: make(chan *encoding.TrainBatch, p.depth+2),
		cancel: cancel, done: make(chan struct{})}
	for range cap(r.free) {
		r.free <- nil // made when first used
	}
	p.run = r
	go r.prepare(ctx, p.src)
}

// prepare fills batches until it is cancelled or the source fails.
func (r *prefetchRun) prepare(ctx context.Context, src Cursor) {
	defer close(r.done)
	for ctx.Err() == nil {
		var it prefetched
		select {
		case it.batch = <-r.free:
		case <-ctx.Done():
			return
		}
		if it.batch == nil {
			it.batch = encoding.NewTrainBatch(r.rows)
		}
		it.batch.Reset()
		it.version = src.Version()
		it.err = src.Next(ctx, it.batch)
		if it.err == nil {
			it.state, it.err = saveState(src)
		}
		select {
		case r.items <- it:
		case <-ctx.Done():
			return
		}
		if it.err != nil {
			return
		}
	}
}

// rewind ends the goroutine, waits for it and puts the source where the consumer is.
func (p *Prefetcher) rewind() error {
	p.peeked = nil
	if p.run != nil {
		p.run.cancel()
		<-p.run.done
		p.run = nil
	}
	return loadState(p.src, p.state)
}

// Close ends the goroutine and leaves the source at the consumer's position.
// A second Close does nothing.
func (p *Prefetcher) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	if p.stateErr != nil {
		return nil
	}
	return p.rewind()
}

// Section is the source's section at the consumer's position.
func (p *Prefetcher) Section() stage.Section {
	s := p.src.Section()
	save := func() ([]byte, error) { return p.state, p.stateErr }
	return BytesSection(s.Name, s.Name+" section", s.Version, save, func(data []byte) error {
		err := p.rewind()
		if err == nil {
			err = s.Load(bytes.NewReader(data), s.Version)
		}
		if err == nil {
			p.state, p.stateErr = saveState(p.src)
			err = p.stateErr
		}
		return err
	})
}

// saveState returns a source's position.
func saveState(src Cursor) ([]byte, error) {
	var buf bytes.Buffer
	if err := src.Section().Save(&buf); err != nil {
		return nil, fmt.Errorf("save the source's position: %w", err)
	}
	return buf.Bytes(), nil
}

// loadState puts a source back to a saved position.
func loadState(src Cursor, state []byte) error {
	s := src.Section()
	if err := s.Load(bytes.NewReader(state), s.Version); err != nil {
		return fmt.Errorf("go back to the source's position: %w", err)
	}
	return nil
}
