package loader

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/replay"
)

// chunkPool holds the newest chunks and hands them out in random order: each
// once a pass, or in proportion to a power of their weight (hanse sampling).
// Nothing is handed out before the first scan is complete, so that the order
// depends on the files and the seed alone.
//
// With hanse sampling every chunk is read when it comes, for its weight, and
// enters the window when that is known. Otherwise a chunk is read when it is
// handed out. What was read stays in the store, transcoded, as far as its
// memory goes.
type chunkPool struct {
	edges[SourceEvent, *Game]
	settings *ShufflingChunkPool

	mu      sync.Mutex
	changed signal // something came in
	window  poolWindow
	stream  *Stream
	hanse   chance.Hanse
	pcg     *rand.PCG // of the hanse tosses
	rng     *rand.Rand
	pending []SourceEvent // of the first scan, until it is complete
	saved   []savedSpan   // of the checkpoint, until the first scan is complete
	base    uint64        // index of the first saved chunk
	scanned bool          // the first scan is complete, and its chunks are in the window
	ended   bool          // the input has

	handed, rejected, bad, transcoded, storeHits, storeMisses *counter
}

func newChunkPool(b *build) (Stage, error) {
	s := b.config.ShufflingChunkPool
	p := &chunkPool{edges: edgesOf[SourceEvent, *Game](b), settings: s, changed: make(signal),
		window: poolWindow{sources: map[string]*poolSource{}, budget: int64(s.StoreMiB) << 20}, stream: NewStream(b.random(0)), pcg: b.random(1),
		hanse:  chance.Hanse{Threshold: float64(s.HanseSamplingThreshold), Gamma: s.HanseSamplingGamma},
		handed: b.counter("chunks_handed_on"), rejected: b.counter("chunks_rejected"), bad: b.counter("chunks_bad"),
		transcoded: b.counter("chunks_transcoded"),
		storeHits:  b.counter("store_hits"), storeMisses: b.counter("store_misses")}
	p.rng = rand.New(p.pcg)
	size := s.ChunkPoolSize
	return p, cmp.Or(replay.Wrong(size < 1 || size > maxWindow, "chunk_pool_size: %d; take 1 to %d", size, maxWindow),
		fewThreads(s.Threads), fewEpochs(s.Epochs),
		replay.Wrong(s.StoreMiB < 0, "store_mib: %d; take 0 for no store, or the memory that it may have", s.StoreMiB),
		errors.Join(p.hanse.Validate(), s.PositionWeight.Validate()))
}

// Run takes sources in beside handing chunks on.
func (p *chunkPool) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.takeIn(ctx) })
	group.Go(func() error {
		return replay.MapOrdered(ctx, p.settings.Threads, p.draw, p.fetch, func(ctx context.Context, g *Game) error {
			if g == nil {
				return nil
			}
			p.handed.Add(1)
			return p.out.Put(ctx, g)
		})
	})
	return group.Wait()
}

// takeIn reads the input until it ends.
func (p *chunkPool) takeIn(ctx context.Context) error {
	tell := func(ended bool) { p.changed.change(&p.mu, func() { p.ended = ended }) }
	err := replay.Each(ctx, p.in.Get, func(e SourceEvent) error {
		defer tell(false)
		return p.add(ctx, e)
	})
	if err == nil && !p.scanned {
		err = p.completeScan(ctx)
	}
	if err == nil {
		tell(true)
	}
	return err
}

// add takes an event in.
func (p *chunkPool) add(ctx context.Context, e SourceEvent) error {
	switch {
	case e.File.Phase == InitialDone:
		if p.scanned {
			return nil
		}
		return p.completeScan(ctx)
	case !p.scanned:
		p.pending = append(p.pending, e)
		return nil
	}
	p.mu.Lock()
	p.window.place(e)
	p.mu.Unlock()
	return p.slide(ctx)
}

// completeScan brings the sources of the first scan into the window: those of
// the checkpoint in their old places, new ones behind them as they came.
func (p *chunkPool) completeScan(ctx context.Context) error {
	p.mu.Lock()
	p.window.restore(p.saved, p.base)
	for _, e := range p.pending {
		p.window.place(e)
	}
	p.pending, p.saved = nil, nil
	p.mu.Unlock()
	return p.slide(ctx)
}

// slide moves the window to the newest chunks, after their weights are known
// where hanse sampling needs them.
func (p *chunkPool) slide(ctx context.Context) error {
	p.mu.Lock()
	w := &p.window
	lo, hi := max(w.first, w.hi-min(w.hi, uint64(p.settings.ChunkPoolSize))), w.hi // the newest chunks
	p.mu.Unlock()
	if p.settings.HanseSampling {
		if err := p.readAhead(ctx, lo, hi); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scanned = true
	p.stream.Slide(lo, hi)
	p.window.forget(lo)
	p.hanse.Reset()
	p.window.survey(func(s *slot) { p.hanse.Add(float64(s.weight)) })
	return nil
}

// poolDraw is a chunk that was drawn.
type poolDraw struct {
	index  uint64
	use    uint32
	source *poolSource
	at     int         // in its source
	number int         // in the source's file (Game.Index): others where a splitter dealt it
	packed *Transcoded // nil = to be read
}

// draw draws a chunk and waits for one; io.EOF when the last epoch is over.
func (p *chunkPool) draw(ctx context.Context) (poolDraw, error) {
	for {
		p.mu.Lock()
		d, ok, over := p.next()
		changed := p.changed
		p.mu.Unlock()
		switch {
		case over:
			return d, io.EOF
		case ok:
			return d, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return d, ctx.Err()
		}
	}
}

// next draws a chunk; ok is false where there is none for now, over is true
// when none will come. p.mu is held.
func (p *chunkPool) next() (d poolDraw, ok, over bool) {
	if !p.scanned {
		return d, false, false
	}
	// Two passes without a chunk that can be handed out: there is none.
	lo, hi := p.stream.Window()
	for unusable := uint64(0); unusable <= 2*(hi-lo); {
		if p.settings.Epochs > 0 && p.stream.Passes() >= uint64(p.settings.Epochs) {
			if p.ended {
				return d, false, true
			}
			if p.stream.Seen() { // the end may be on its way; a folder that is watched may bring more
				return d, false, false
			}
		}
		index, any := p.stream.Next()
		if !any {
			break
		}
		s := p.window.slot(index)
		if s.state == slotDead || p.settings.HanseSampling && s.state != slotRead {
			unusable++
			continue
		}
		unusable = 0
		if p.settings.HanseSampling && !p.hanse.Accept(p.rng, float64(s.weight)) {
			p.rejected.Add(1)
			continue
		}
		source, at := p.window.locate(index)
		s.use++
		return poolDraw{index: index, use: s.use - 1, source: source, at: at, number: numberIn(source.source, at), packed: s.packed}, true, false
	}
	return d, false, p.ended
}

// left returns how many chunks it still hands on; ok is false where it never ends, or that
// is not known.
func (p *chunkPool) left() (chunks uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stream.Left(uint64(p.settings.Epochs)), p.scanned && p.settings.Epochs > 0 && !p.settings.HanseSampling
}

// Stats returns the counters.
func (p *chunkPool) Stats() []Counter {
	p.mu.Lock()
	defer p.mu.Unlock()
	lo, hi := p.stream.Window()
	w := &p.window
	return append(p.build.Stats(), gauge("chunks_in_pool", w.live), gauge("window_chunks", hi-lo),
		gauge("store_chunks", w.stored), gauge("store_positions", w.positions), gauge("store_bytes", w.bytes),
		gauge("max_weight", p.hanse.Max()), gauge("passes", p.stream.Passes()))
}
