package loader

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// pluginStage passes chunks through one rescorer, many in one call and several
// calls at a time, and keeps their order. A chunk that the rescorer refuses is
// quarantined. It has no state: which chunks share a call changes nothing.
type pluginStage struct {
	chunkRescorer
	batch   int // most chunks of a call
	batches atomic.Uint64
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
	p := &pluginStage{batch: s.Batch}
	p.build, p.threads, p.rescorers = b, s.Threads, []stage.Rescorer{s.Rescorer}
	p.in, p.out = inputOf[*Game](b), outputOf[*Game](b)
	return p, nil
}

// Run rescores.
func (p *pluginStage) Run(ctx context.Context) error {
	batches := NewQueue[[]*Game](1, Block)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer batches.Close()
		return p.gather(ctx, batches)
	})
	group.Go(func() error {
		return replay.MapOrdered(ctx, p.threads, batches.Get, p.rescoreAll, func(ctx context.Context, games []*Game) error {
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
	return replay.Each(ctx, p.in.Get, func(g *Game) error {
		batch := []*Game{g}
		for len(batch) < p.batch {
			g, ok := p.in.TryGet()
			if !ok {
				break
			}
			batch = append(batch, g)
		}
		return batches.Put(ctx, batch)
	})
}

// rescoreAll returns the chunks as they are to be learnt, in their order, without
// those that cannot be read or that the rescorer refused. After an error of a batch
// they are rescored one by one, to find those that it is about.
func (p *pluginStage) rescoreAll(ctx context.Context, batch []*Game) (done []*Game, err error) {
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

// rescore is rescoreAll of games whose records were read.
func (p *pluginStage) rescore(ctx context.Context, games []*Game, records []*record.Game) (done []*Game, err error) {
	p.batches.Add(1)
	rescorer := p.rescorers[0]
	out, err := rescoreBatch(ctx, rescorer, records)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrStop):
		return nil, err
	case err != nil && len(games) == 1:
		p.refuse(games[0], fmt.Errorf("chunk %s: rescorer %s: %w", games[0], rescorer.Name(), err))
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
		if err := checkRescored(g, rescorer, records[i], out[i]); err != nil {
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

func (p *pluginStage) Stats() []Counter {
	return append(p.chunkRescorer.Stats(), count("batches", &p.batches))
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
