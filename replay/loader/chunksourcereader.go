package loader

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
)

// openerOf returns what opens the form of chunk file that a name tells, nil if it tells none.
func openerOf(name string) func(*chunkSourceReader, File) (Source, error) {
	switch filepath.Ext(name) {
	case ".games":
		return openGames
	case ".gz", ".tar":
		return openLeela
	}
	return nil
}

// Reads says whether a loader reads files of such a name.
func Reads(name string) bool { return openerOf(name) != nil }

// chunkSourceReader opens files. A file that cannot be used is quarantined.
type chunkSourceReader struct {
	edges[File, SourceEvent]
	settings *ChunkSourceReader

	opened, bad, badMembers, chunks *counter
}

func newChunkSourceReader(b *build) (Stage, error) {
	r := &chunkSourceReader{edges: edgesOf[File, SourceEvent](b), settings: b.config.ChunkSourceReader,
		opened: b.counter("files_opened"), bad: b.counter("files_bad"), badMembers: b.counter("members_bad"),
		chunks: b.counter("chunks_seen")}
	return r, fewThreads(r.settings.Threads)
}

// Run opens files in their order.
func (r *chunkSourceReader) Run(ctx context.Context) error {
	return replay.MapOrdered(ctx, r.settings.Threads, r.in.Get, r.read, func(ctx context.Context, e *SourceEvent) error {
		if e == nil {
			return nil
		}
		return r.out.Put(ctx, *e)
	})
}

// read opens one file; nil = nothing to hand on.
func (r *chunkSourceReader) read(ctx context.Context, f File) (*SourceEvent, error) {
	if f.Phase != Initial {
		r.quarantine.Release(f.Key) // what it was before
	}
	if f.Phase == InitialDone || f.Phase == Removed {
		return &SourceEvent{File: f}, nil
	}
	src, err := openerOf(f.Path)(r, f) // the provider lets no other names through
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r.bad.Add(1)
		r.quarantine.Add(f.Key, err)
		if f.Phase == Replaced { // what was read of it before is no longer there
			f.Phase = Removed
			return &SourceEvent{File: f}, nil
		}
		return nil, nil
	}
	r.opened.Add(1)
	r.chunks.Add(uint64(src.Len()))
	if len(r.settings.Rescorers) > 0 {
		src = &rescoredSource{Source: src, ctx: context.WithoutCancel(ctx), rescorers: r.settings.Rescorers}
	}
	return &SourceEvent{File: f, Source: src}, nil
}

// rescoredSource passes each game through rescorers in order when it is read.
type rescoredSource struct {
	Source
	ctx       context.Context
	rescorers []stage.Rescorer
}

func (s *rescoredSource) Game(i int) (*Game, error) {
	g, err := s.Source.Game(i)
	if err != nil {
		return nil, err
	}
	before, err := g.Record()
	if err != nil {
		return nil, err
	}
	rec := before
	for _, r := range s.rescorers {
		next, err := r.Rescore(s.ctx, rec)
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

// gamesSource is a file of our own games (*.games).
type gamesSource struct {
	key   string
	index *replay.GameIndex
}

// openGames opens a file of our own games. A damaged stretch of it is an
// error: the games around it can be had with `chessbrain verify`, but a file
// that has changed after it was sealed is not to be trusted in training.
func openGames(r *chunkSourceReader, f File) (Source, error) {
	index, err := replay.OpenGameIndex(r.options.FS, f.Path)
	if err != nil {
		return nil, err
	}
	return &gamesSource{f.Key, index}, nil
}

func (s *gamesSource) Key() string { return s.key }
func (s *gamesSource) Len() int    { return s.index.Len() }

func (s *gamesSource) Game(i int) (*Game, error) {
	rec, err := s.index.Game(i)
	if err != nil {
		return nil, fmt.Errorf("chunk %d: %w", i, err)
	}
	return &Game{Key: ChunkHash(s.key, i), Source: s.key, Index: i, Rec: rec}, nil
}
