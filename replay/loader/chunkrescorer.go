package loader

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// chunkRescorer passes chunks through rescorers and keeps their order. A chunk
// that a rescorer refuses is quarantined.
type chunkRescorer struct {
	*build
	threads   int
	rescorers []stage.Rescorer
	in, out   *Queue[*Game]

	rescored, changed, bad atomic.Uint64
}

func newChunkRescorer(b *build) (Stage, error) {
	s := b.config.ChunkRescorer
	if s.Threads < 1 {
		return nil, fmt.Errorf("threads: %d; at least 1 is needed", s.Threads)
	}
	if len(s.Rescorers) == 0 {
		return nil, errors.New("no rescorer; add rescorer { name: ... }, or remove the stage")
	}
	return &chunkRescorer{build: b, threads: s.Threads, rescorers: s.Rescorers, in: inputOf[*Game](b), out: outputOf[*Game](b)}, nil
}

// Run rescores.
func (r *chunkRescorer) Run(ctx context.Context) error {
	return replay.MapOrdered(ctx, r.threads, r.in.Get, r.rescore, func(ctx context.Context, g *Game) error {
		if g == nil {
			return nil
		}
		return r.out.Put(ctx, g)
	})
}

// rescore returns the game as it is to be learnt, nil if a rescorer refused it.
func (r *chunkRescorer) rescore(ctx context.Context, g *Game) (*Game, error) {
	out, err := rescoreGame(ctx, g, r.rescorers)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrStop):
		return nil, err
	case err != nil:
		r.refuse(g, err)
		return nil, nil
	case out != g:
		r.changed.Add(1)
	}
	r.rescored.Add(1)
	return out, nil
}

// refuse quarantines a chunk.
func (r *chunkRescorer) refuse(g *Game, err error) {
	r.bad.Add(1)
	r.quarantine.Add(g.String(), err)
}

func (r *chunkRescorer) Stats() []Counter {
	return []Counter{count("chunks_rescored", &r.rescored), count("chunks_changed", &r.changed), count("chunks_bad", &r.bad)}
}

// rescoreGame passes g through rescorers in order and returns it, or a changed
// copy. A rescorer must return a valid record of the same game.
func rescoreGame(ctx context.Context, g *Game, rescorers []stage.Rescorer) (*Game, error) {
	before, err := g.Record()
	if err != nil {
		return nil, err
	}
	rec := before
	for _, r := range rescorers {
		next, err := r.Rescore(ctx, rec)
		if err != nil {
			return nil, fmt.Errorf("chunk %s: rescorer %s: %w", g, r.Name(), err)
		}
		if err := checkRescored(g, r, rec, next); err != nil {
			return nil, err
		}
		rec = next
	}
	return g.with(before, rec), nil
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
