package loader

import (
	"cmp"
	"context"

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
func (p *pluginStage) Run(ctx context.Context) error { return p.run(ctx, p.gather) }

// gather returns a batch of the chunks that wait: it waits for the first alone.
func (p *pluginStage) gather(ctx context.Context) ([]*Game, error) {
	g, err := p.in.Get(ctx)
	batch := []*Game{g}
	for ok := err == nil; ok && len(batch) < p.batch; {
		if g, ok = p.in.TryGet(); ok {
			batch = append(batch, g)
		}
	}
	return batch, err
}
