package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// chunkRescorer passes chunks through rescorers and keeps their order. A chunk
// that a rescorer refuses is quarantined. A plugin stage is one that passes many chunks
// through one rescorer in one call. Neither has state: which chunks share a call changes
// nothing.
type chunkRescorer struct {
	edges[*Game, *Game]
	threads   int
	batch     int // most chunks of a call
	rescorers []stage.Rescorer

	rescored, changed, bad, batches *counter
}

func newChunkRescorer(b *build) (Stage, error) {
	s := b.config.ChunkRescorer
	r := rescorerOf(b, s.Threads, 1, s.Rescorers...)
	r.batches = new(counter)
	return r, cmp.Or(fewThreads(s.Threads),
		replay.Wrong(len(s.Rescorers) == 0, "no rescorer; add rescorer { name: ... }, or remove the stage"))
}

func newPlugin(b *build) (Stage, error) {
	s := b.config.Plugin
	r := rescorerOf(b, s.Threads, s.Batch, s.Rescorer)
	r.batches = b.counter("batches")
	return r, cmp.Or(fewThreads(s.Threads), replay.Wrong(s.Batch < 1, "batch: %d; at least 1 is needed", s.Batch),
		replay.Wrong(s.Rescorer == nil, "no name of a rescorer"))
}

func rescorerOf(b *build, threads, batch int, rescorers ...stage.Rescorer) *chunkRescorer {
	return &chunkRescorer{edges: edgesOf[*Game, *Game](b), threads: threads, batch: batch, rescorers: rescorers,
		rescored: b.counter("chunks_rescored"), changed: b.counter("chunks_changed"), bad: b.counter("chunks_bad")}
}

// Run rescores.
func (r *chunkRescorer) Run(ctx context.Context) error {
	return replay.MapOrdered(ctx, r.threads, r.gather, r.rescore, r.out.PutAll)
}

// gather returns a batch of the chunks that wait: it waits for the first alone.
func (r *chunkRescorer) gather(ctx context.Context) ([]*Game, error) {
	g, err := r.in.Get(ctx)
	batch := []*Game{g}
	for ok := err == nil; ok && len(batch) < r.batch; {
		if g, ok = r.in.TryGet(); ok {
			batch = append(batch, g)
		}
	}
	return batch, err
}

// rescoring is a chunk on its way through the rescorers.
type rescoring struct {
	game      *Game
	read, now *record.Game
}

// rescore returns the chunks as they are to be learnt, in their order, without those
// that cannot be read or that a rescorer refused.
func (r *chunkRescorer) rescore(ctx context.Context, batch []*Game) (done []*Game, err error) {
	var chunks []rescoring
	for _, g := range batch {
		rec, err := g.Record()
		if err != nil {
			r.refuse(g, err)
			continue
		}
		chunks = append(chunks, rescoring{g, rec, rec})
	}
	for _, rescorer := range r.rescorers {
		if chunks, err = r.pass(ctx, rescorer, chunks); err != nil {
			return nil, err
		}
	}
	for _, c := range chunks {
		r.rescored.Add(1)
		if c.now != c.read {
			r.changed.Add(1)
		}
		done = append(done, c.game.with(c.read, c.now))
	}
	return done, nil
}

// pass passes chunks through one rescorer and returns those that it does not refuse.
// After an error of a batch they go one by one, to find those that it is about.
func (r *chunkRescorer) pass(ctx context.Context, rescorer stage.Rescorer, chunks []rescoring) ([]rescoring, error) {
	if len(chunks) == 0 {
		return nil, ctx.Err()
	}
	r.batches.Add(1)
	var passed []rescoring
	records := make([]*record.Game, len(chunks))
	for i, c := range chunks {
		records[i] = c.now
	}
	out, err := stage.RescoreAll(ctx, rescorer, records)
	if err != nil && len(chunks) == 1 {
		err = fmt.Errorf("chunk %s: rescorer %s: %w", chunks[0].game, rescorer.Name(), err)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrStop):
		return nil, err
	case err != nil && len(chunks) == 1:
		r.refuse(chunks[0].game, err)
		return nil, nil
	case err != nil:
		for i := range chunks {
			one, err := r.pass(ctx, rescorer, chunks[i:i+1])
			if err != nil {
				return nil, err
			}
			passed = append(passed, one...)
		}
		return passed, nil
	}
	for i, c := range chunks {
		if err := checkRescored(c.game, rescorer, c.now, out[i]); err != nil {
			r.refuse(c.game, err)
			continue
		}
		c.now = out[i]
		passed = append(passed, c)
	}
	return passed, nil
}

// refuse quarantines a chunk.
func (r *chunkRescorer) refuse(g *Game, err error) {
	r.bad.Add(1)
	r.quarantine.Add(g.String(), err)
}

// checkRescored holds what r made of a record against it.
func checkRescored(g *Game, r stage.Rescorer, before, after *record.Game) error {
	switch {
	case after == before:
		return nil
	case after == nil || after.ID != before.ID:
		return fmt.Errorf("chunk %s: rescorer %s returned another game", g, r.Name())
	}
	if err := after.Validate(); err != nil {
		return fmt.Errorf("chunk %s: rescorer %s: invalid result: %w", g, r.Name(), err)
	}
	return nil
}

// with returns the chunk with another record than it has, itself where they are
// the same.
func (g *Game) with(has, wanted *record.Game) *Game {
	if has == wanted {
		return g
	}
	changed := *g
	changed.Rec, changed.Packed = wanted, nil
	return &changed
}
