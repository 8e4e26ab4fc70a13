package prepare

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// Input is a directory of games, or a part of it: of its chunk files in path
// order those number From to To-1, from 0. To 0 = up to the last. Skipping the
// first n files is From: n.
type Input struct {
	Dir      string
	From, To int
}

// part returns the files From to To-1; ok is false where there are none.
func part[F any](files []F, in Input) (taken []F, ok bool) {
	to := in.To
	if to == 0 || to > len(files) {
		to = len(files)
	}
	if in.From < 0 || in.From >= to {
		return nil, false
	}
	return files[in.From:to], true
}

// InputFile identifies a chunk file: where it is, and a hash of its end, which
// holds a hash of all before it where the file is sealed.
type InputFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Tail string `json:"tail"` // SHA-256 of the last 4096 bytes
}

// ListInputs lists the chunk files of inputs, in their order, each directory's in
// path order. Chunks that were never sealed count with what they have. A
// directory, or a part of one, without any file is ErrNoInput: a wrong path must
// not go unnoticed.
func ListInputs(fsys fsx.FS, inputs []Input) ([]InputFile, error) {
	var files []InputFile
	for _, in := range inputs {
		_, err := fsys.Stat(in.Dir)
		var paths []string
		if err == nil {
			paths, err = replay.ListChunks(fsys, in.Dir)
		}
		if err != nil {
			return nil, fmt.Errorf("list games of %s: %w", in.Dir, err)
		}
		taken, ok := part(paths, in)
		if !ok {
			return nil, fmt.Errorf("%w: %s has %d files of games, files %d up to %d are none", ErrNoInput, in.Dir, len(paths), in.From, in.To)
		}
		for _, path := range taken {
			f, err := identify(fsys, path)
			if err != nil {
				return nil, fmt.Errorf("read games of %s: %w", in.Dir, err)
			}
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: no directory of games was named", ErrNoInput)
	}
	return files, nil
}

const tailBytes = 4096

func identify(fsys fsx.FS, path string) (InputFile, error) {
	info, err := fsys.Stat(path)
	if err != nil {
		return InputFile{}, err
	}
	tail, err := replay.ReadPart(fsys, path, max(info.Size()-tailBytes, 0), -1)
	if err != nil {
		return InputFile{}, err
	}
	sum := sha256.Sum256(tail)
	return InputFile{path, info.Size(), hex.EncodeToString(sum[:])}, nil
}

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
