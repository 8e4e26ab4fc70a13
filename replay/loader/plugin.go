package loader

import (
	"cmp"
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/replay"
)

// pluginStage is a chunkRescorer that passes many chunks through one rescorer in one
// call. It has no state: which chunks share a call changes nothing.
type pluginStage struct {
	chunkRescorer
	batch int // most chunks of a call
}

func newPlugin(b *build) (Stage, error) {
	s := b.config.Plugin
	p := &pluginStage{rescorerOf(b, s.Threads, s.Rescorer), s.Batch}
	p.batches = b.counter("batches")
	return p, cmp.Or(fewThreads(s.Threads), replay.Wrong(s.Batch < 1, "batch: %d; at least 1 is needed", s.Batch),
		replay.Wrong(s.Rescorer == nil, "no name of a rescorer"))
}

// Run rescores.
func (p *pluginStage) Run(ctx context.Context) error {
	batches := NewQueue[[]*Game](1, Block)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer batches.Close()
		return p.gather(ctx, batches)
	})
	group.Go(func() error { return p.run(ctx, batches.Get) })
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
