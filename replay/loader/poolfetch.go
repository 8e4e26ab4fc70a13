package loader

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// fetch returns the chunk that was drawn, from the store or from its file; nil
// if it cannot be used.
func (p *chunkPool) fetch(ctx context.Context, d poolDraw) (*Game, error) {
	if d.packed != nil {
		p.storeHits.Add(1)
		return d.game(d.packed), nil
	}
	p.storeMisses.Add(1)
	g, t, err := p.read(ctx, d.index, d.source, d.at, p.settings.StoreMiB > 0)
	if err != nil || g == nil || t != nil && t.num == 0 {
		return nil, err
	}
	if t != nil {
		return d.game(t), nil
	}
	g.Use = d.use
	return g, nil
}

// game returns a stored chunk as it is handed on.
func (d *poolDraw) game(t *Transcoded) *Game {
	return &Game{Key: ChunkHash(d.source.key, d.number), Source: d.source.key, Index: d.number, Packed: t, Use: d.use}
}

// read reads a chunk, transcodes it if that is wanted, and notes in the window what it
// came to. A chunk that cannot be used is quarantined, and g is nil. An error is ctx's or
// wraps ErrStop.
func (p *chunkPool) read(ctx context.Context, index uint64, src *poolSource, at int, transcode bool) (g *Game, t *Transcoded, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	source := src.source
	p.mu.Unlock()
	if source == nil {
		return nil, nil, nil // removed after the draw
	}
	g, err = source.Game(at)
	if err == nil && transcode {
		if t, err = g.transcoded(p.settings.PositionWeight, p.options.ShortTerm); err == nil {
			p.transcoded.Add(1)
		}
		if c, ok := g.Packed.(*LeelaChunk); ok {
			c.Release()
		}
	}
	if errors.Is(err, ErrStop) {
		return nil, nil, err
	}
	if err != nil {
		p.bad.Add(1)
		p.quarantine.Add(fmt.Sprintf("%s[%d]", src.key, numberIn(source, at)), err)
		g, t = nil, nil
	}
	if t != nil || g == nil {
		p.mu.Lock()
		p.window.put(index, t)
		p.mu.Unlock()
	}
	return g, t, nil
}

// readAhead reads the chunks lo to hi that were not read yet, on all threads.
func (p *chunkPool) readAhead(ctx context.Context, lo, hi uint64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(p.settings.Threads)
	for index := lo; index < hi; index++ {
		p.mu.Lock()
		state := p.window.slot(index).state
		source, at := p.window.locate(index)
		p.mu.Unlock()
		if state == slotUnread {
			group.Go(func() error {
				_, _, err := p.read(ctx, index, source, at, true)
				return err
			})
		}
	}
	return group.Wait()
}
