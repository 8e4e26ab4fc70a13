package prepare

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// PreprocessOptions say what Preprocess does.
type PreprocessOptions struct {
	FS        fsx.FS // nil = the real file system
	Inputs    []Input
	Out       string
	ChunkSize int  // games a chunk
	KeepSame  bool // keep games whose moves were there before
}

// Preprocess combines the games of the inputs, leaves out those that are there
// twice (by id, and by moves), and splits them into chunks. The same call goes on
// after a stop; when all is done it only returns the manifest.
func Preprocess(ctx context.Context, opt PreprocessOptions) (*Manifest, error) {
	if opt.FS == nil {
		opt.FS = fsx.OS
	}
	files, err := ListInputs(opt.FS, opt.Inputs)
	if err != nil {
		return nil, fmt.Errorf("preprocess: %w", err)
	}
	want := Manifest{Step: "preprocess", Inputs: files,
		Settings: map[string]string{"chunk_size": strconv.Itoa(opt.ChunkSize), "keep_same": strconv.FormatBool(opt.KeepSame)}}
	split, done, err := OpenSplit(opt.FS, opt.Out, opt.ChunkSize, want)
	if err != nil {
		return nil, fmt.Errorf("preprocess: %w", err)
	}
	if done {
		return split.Manifest(), nil
	}
	var dedup Dedup
	same := int64(0)
	counts, err := Combine(ctx, opt.FS, files, func(g *record.Game) error {
		if !opt.KeepSame && dedup.Again(g) {
			same++
			return nil
		}
		return split.Add(g)
	})
	counts.SameMoves = same
	return finish(split, counts, "preprocess", err)
}

// finish ends a step, well or not.
func finish(split *Split, counts Counts, step string, err error) (*Manifest, error) {
	var m *Manifest
	if err == nil {
		m, err = split.Finish(counts)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", step, errors.Join(err, split.Abort()))
	}
	return m, nil
}

// ProcessOptions say what Process does.
type ProcessOptions struct {
	FS        fsx.FS // nil = the real file system
	Inputs    []Input
	Out       string
	ChunkSize int // games a chunk
	Select    Selector
	Workers   int // files read ahead at once; below 1 = 1
}

// Process marks which positions of each game are trained on and leaves out games
// without any, and those that an earlier input holds too (by id; 16 bytes a game). It goes on after a stop as Preprocess does, and its output does
// not depend on Workers.
func Process(ctx context.Context, opt ProcessOptions) (*Manifest, error) {
	if opt.FS == nil {
		opt.FS = fsx.OS
	}
	files, err := ListInputs(opt.FS, opt.Inputs)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	want := Manifest{Step: "process", Inputs: files, Settings: map[string]string{
		"chunk_size": strconv.Itoa(opt.ChunkSize), "positions": opt.Select.String(), "seed": strconv.FormatUint(opt.Select.Seed, 10)}}
	split, done, err := OpenSplit(opt.FS, opt.Out, opt.ChunkSize, want)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	if done {
		return split.Manifest(), nil
	}
	var counts Counts
	seen := map[[16]byte]struct{}{}
	err = readAhead(ctx, opt.FS, files, max(opt.Workers, 1), opt.Select, func(r chunkRead) error {
		counts.Damaged += int64(r.damaged)
		for _, g := range r.games {
			counts.Read++
			if _, ok := seen[g.ID]; ok {
				counts.SameID++
				continue
			}
			seen[g.ID] = struct{}{}
			if !hasRows(g) {
				counts.NoRows++
				continue
			}
			if err := split.Add(g); err != nil {
				return err
			}
		}
		return nil
	})
	return finish(split, counts, "process", err)
}

func hasRows(g *record.Game) bool {
	for i := range g.Plies {
		if trained(&g.Plies[i]) {
			return true
		}
	}
	return false
}

// chunkRead is a chunk file with the choice of positions made.
type chunkRead struct {
	games   []*record.Game
	damaged int
}

// readAhead reads files on several goroutines and hands them to fn in order, one
// at a time. At most workers files are in memory beside fn's.
func readAhead(ctx context.Context, fsys fsx.FS, files []InputFile, workers int, s Selector, fn func(chunkRead) error) error {
	group, ctx := errgroup.WithContext(ctx)
	queue := make(chan chan chunkRead, workers-1) // in order; its room bounds what is read ahead
	group.Go(func() error {
		defer close(queue)
		for _, f := range files {
			result := make(chan chunkRead, 1)
			select {
			case queue <- result:
			case <-ctx.Done():
				return ctx.Err()
			}
			group.Go(func() error {
				games, info, err := replay.ReadChunk(fsys, f.Path)
				if err != nil {
					return err
				}
				for i, g := range games {
					games[i] = s.Select(g)
				}
				result <- chunkRead{games, len(info.Damage)}
				return nil
			})
		}
		return nil
	})
	group.Go(func() error {
		for result := range queue {
			select {
			case r := <-result:
				if err := fn(r); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}
