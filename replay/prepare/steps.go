package prepare

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// Options say what a step reads and writes.
type Options struct {
	FS        fsx.FS // nil = the real file system
	Inputs    []Input
	Out       string
	ChunkSize int // games a chunk

	// Of Process: which positions it chooses, and how many files it reads ahead at
	// once; below 1 = 1.
	Select  Selector
	Workers int
}

// Preprocess combines the games of the inputs, leaves out those that are there
// twice (by id, and by moves; the first one counts), and splits them into chunks. The
// same call goes on after a stop; when all is done it only returns the manifest.
func Preprocess(ctx context.Context, opt Options) (*Manifest, error) {
	opt.Select, opt.Workers = Selector{Kind: SelectAll}, 1
	seen := map[[16]byte]bool{}
	return opt.step(ctx, "preprocess", map[string]string{"keep_same": "false"}, func(g *record.Game, counts *Counts) bool {
		key := movesKey(g)
		if seen[key] {
			counts.SameMoves++
			return false
		}
		seen[key] = true
		return true
	})
}

// movesKey identifies a game by its start and moves: 16 bytes of their SHA-256.
// Who played, the result and what a search said do not count.
func movesKey(g *record.Game) [16]byte {
	buf := make([]byte, 0, len(g.Start)+1+2*len(g.Plies))
	buf = append(append(buf, g.Start...), 0)
	for i := range g.Plies {
		buf = binary.LittleEndian.AppendUint16(buf, uint16(g.Plies[i].Move))
	}
	sum := sha256.Sum256(buf)
	return [16]byte(sum[:16])
}

// Process marks which positions of each game are trained on and leaves out games
// without any, and those that an earlier input holds too (by id). It goes on after a
// stop as Preprocess does, and its output does not depend on Workers.
func Process(ctx context.Context, opt Options) (*Manifest, error) {
	settings := map[string]string{"positions": opt.Select.String(), "seed": strconv.FormatUint(opt.Select.Seed, 10)}
	return opt.step(ctx, "process", settings, func(g *record.Game, counts *Counts) bool {
		if g.NumRows() > 0 {
			return true
		}
		counts.NoRows++
		return false
	})
}

// step splits the games of the inputs, each id once, that keep has into chunks. It
// holds 16 bytes a game. Errors: ctx's, and a file that cannot be read at all; games in
// a damaged stretch are left out.
func (opt Options) step(ctx context.Context, name string, settings map[string]string, keep func(*record.Game, *Counts) bool) (m *Manifest, err error) {
	opt.FS = cmp.Or(opt.FS, fsx.OS)
	files, err := ListInputs(opt.FS, opt.Inputs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	settings["chunk_size"] = strconv.Itoa(opt.ChunkSize)
	s, err := openSplit(opt.FS, opt.Out, opt.ChunkSize, Manifest{Step: name, Inputs: files, Settings: settings})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if s.manifest.Done {
		return s.manifest, nil
	}
	var counts Counts
	seen := map[[16]byte]bool{}
	err = replay.MapOrdered(ctx, opt.Workers, replay.Items(files), opt.read, func(_ context.Context, r chunkRead) error {
		counts.Damaged += int64(r.damaged)
		for _, g := range r.games {
			counts.Read++
			if seen[g.ID] {
				counts.SameID++
				continue
			}
			seen[g.ID] = true
			if !keep(g, &counts) {
				continue
			}
			if err := s.add(g); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.finish(counts)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(err, s.abort()))
	}
	return s.manifest, nil
}

// chunkRead is a chunk file with the choice of positions made.
type chunkRead struct {
	games   []*record.Game
	damaged int
}

// read reads a chunk file and makes the choice of positions.
func (opt *Options) read(_ context.Context, f *InputFile) (chunkRead, error) {
	games, info, err := replay.ReadChunk(opt.FS, f.Path)
	for i, g := range games {
		games[i] = opt.Select.Select(g)
	}
	return chunkRead{games, len(info.Damage)}, err
}

// Step does a step whose files other code writes: do writes them in dir, which is
// made or found again, and their counts in the manifest. It goes on with what is there
// already; m.Done says that all is. want holds Step, Settings and Inputs. The manifest
// lists no files, so that Cleanup takes nothing away that it cannot prove to be the
// step's. A directory of another step is ErrOther, one that is not empty and has no
// manifest ErrForeign; neither is touched.
func Step(fsys fsx.FS, dir string, want Manifest, do func(m *Manifest) error) error {
	s, err := openSplit(fsys, dir, 1, want)
	if err != nil {
		return fmt.Errorf("%s: %w", want.Step, err)
	}
	m := s.manifest
	if err := do(m); err != nil || m.Done {
		return err
	}
	m.Done = true
	if err := m.write(fsys, dir); err != nil {
		return fmt.Errorf("%s: %w", m.Step, err)
	}
	return nil
}
