package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

func init() {
	register(kind{name: "plugin", in: Chunks, out: Chunks,
		chosen: func(c *StageConfig) bool { return c.Plugin != nil }, newStage: newPlugin})
}

// pluginStage passes chunks through one rescorer, many in one call and several
// calls at a time, and keeps their order. A chunk that the rescorer refuses is
// quarantined. It has no state: which chunks share a call changes nothing.
type pluginStage struct {
	name       string
	settings   *Plugin
	quarantine *Quarantine
	in, out    *Queue[*Game]

	batches, rescored, changed, bad atomic.Uint64
}

func newPlugin(b *build) (Stage, error) {
	s := b.config.Plugin
	switch {
	case s.Threads < 1:
		return nil, fmt.Errorf("threads: %d; at least 1 is needed", s.Threads)
	case s.Batch < 1:
		return nil, fmt.Errorf("batch: %d; at least 1 is needed", s.Batch)
	case s.Rescorer == nil:
		return nil, errors.New("no name of a rescorer")
	}
	return &pluginStage{name: b.config.Name, settings: s, quarantine: b.quarantine, in: inputOf[*Game](b), out: outputOf[*Game](b)}, nil
}

func (p *pluginStage) Name() string { return p.name }

// Run rescores.
func (p *pluginStage) Run(ctx context.Context) error {
	batches := NewQueue[[]*Game](1, Block)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer batches.Close()
		return p.gather(ctx, batches)
	})
	group.Go(func() error {
		return mapOrdered(ctx, p.settings.Threads, batches, p.readAndRescore, func(ctx context.Context, games []*Game) error {
			for _, g := range games {
				if err := p.out.Put(ctx, g); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return group.Wait()
}

// gather makes batches of the chunks that wait: it waits for the first of each
// alone.
func (p *pluginStage) gather(ctx context.Context, batches *Queue[[]*Game]) error {
	for {
		g, err := p.in.Get(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		batch := []*Game{g}
		for len(batch) < p.settings.Batch {
			g, ok := p.in.TryGet()
			if !ok {
				break
			}
			batch = append(batch, g)
		}
		if err := batches.Put(ctx, batch); err != nil {
			return err
		}
	}
}

// readAndRescore returns the chunks as they are to be learnt, in their order,
// without those that cannot be read or that the rescorer refused.
func (p *pluginStage) readAndRescore(ctx context.Context, batch []*Game) ([]*Game, error) {
	games, records := batch[:0:0], make([]*record.Game, 0, len(batch))
	for _, g := range batch {
		rec, err := g.Record()
		if err != nil {
			p.refuse(g, err)
			continue
		}
		games, records = append(games, g), append(records, rec)
	}
	if len(games) == 0 {
		return nil, ctx.Err()
	}
	return p.rescore(ctx, games, records)
}

// rescore passes games with these records through the rescorer; after an error
// one by one, to find those that it is about.
func (p *pluginStage) rescore(ctx context.Context, games []*Game, records []*record.Game) (done []*Game, err error) {
	p.batches.Add(1)
	out, err := rescoreBatch(ctx, p.settings.Rescorer, records)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrStop):
		return nil, err
	case err != nil && len(games) == 1:
		p.refuse(games[0], fmt.Errorf("chunk %s: rescorer %s: %w", games[0], p.settings.Rescorer.Name(), err))
		return nil, nil
	case err != nil:
		for i := range games {
			one, err := p.rescore(ctx, games[i:i+1], records[i:i+1])
			if err != nil {
				return nil, err
			}
			done = append(done, one...)
		}
		return done, nil
	}
	for i, g := range games {
		if err := checkRescored(g, p.settings.Rescorer, records[i], out[i]); err != nil {
			p.refuse(g, err)
			continue
		}
		p.rescored.Add(1)
		if out[i] != records[i] {
			p.changed.Add(1)
		}
		done = append(done, g.with(records[i], out[i]))
	}
	return done, nil
}

func (p *pluginStage) refuse(g *Game, err error) {
	p.bad.Add(1)
	p.quarantine.Add(g.String(), err)
}

func (p *pluginStage) Stats() []Counter {
	return []Counter{count("chunks_rescored", &p.rescored), count("chunks_changed", &p.changed), count("chunks_bad", &p.bad), count("batches", &p.batches)}
}

// rescoreBatch passes records through r, in one call where r can do that.
func rescoreBatch(ctx context.Context, r stage.Rescorer, records []*record.Game) ([]*record.Game, error) {
	if batch, ok := r.(stage.BatchRescorer); ok {
		out, err := batch.RescoreBatch(ctx, records)
		if err == nil && len(out) != len(records) {
			err = fmt.Errorf("it returned %d games for %d", len(out), len(records))
		}
		return out, err
	}
	out := make([]*record.Game, len(records))
	for i, rec := range records {
		var err error
		if out[i], err = r.Rescore(ctx, rec); err != nil {
			return nil, err
		}
	}
	return out, nil
}
