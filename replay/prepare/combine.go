package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
		paths, err := listChunks(fsys, in.Dir)
		if err != nil {
			return nil, fmt.Errorf("list games of %s: %w", in.Dir, err)
		}
		to := in.To
		if to == 0 || to > len(paths) {
			to = len(paths)
		}
		if in.From < 0 || in.From >= to {
			return nil, fmt.Errorf("%w: %s has %d files of games, files %d up to %d are none", ErrNoInput, in.Dir, len(paths), in.From, in.To)
		}
		for _, path := range paths[in.From:to] {
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

func isChunk(base string) bool {
	return !strings.HasPrefix(base, ".") && (strings.HasSuffix(base, replay.SealedSuffix) || strings.HasSuffix(base, replay.GrowingSuffix))
}

// listChunks returns the chunk files below dir in path order.
func listChunks(fsys fsx.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			below, err := listChunks(fsys, path)
			if err != nil {
				return nil, err
			}
			paths = append(paths, below...)
		case isChunk(e.Name()):
			paths = append(paths, path)
		}
	}
	return paths, nil
}

const tailBytes = 4096

func identify(fsys fsx.FS, path string) (InputFile, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return InputFile{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return InputFile{}, err
	}
	tail := make([]byte, min(info.Size(), tailBytes))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return InputFile{}, err
	}
	sum := sha256.Sum256(tail)
	return InputFile{path, info.Size(), hex.EncodeToString(sum[:])}, nil
}

// Combine calls fn for every game of the files, in order, each id once. It
// returns how many games it read, how many of those were there before, and how
// many stretches of the files are damaged (their games are left out). Errors:
// fn's, ctx's, and a file that cannot be read at all.
func Combine(ctx context.Context, fsys fsx.FS, files []InputFile, fn func(*record.Game) error) (Counts, error) {
	var n Counts
	seen := map[[16]byte]struct{}{}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		games, info, err := replay.ReadChunk(fsys, f.Path)
		if err != nil {
			return n, err
		}
		n.Damaged += int64(len(info.Damage))
		for _, g := range games {
			n.Read++
			if _, ok := seen[g.ID]; ok {
				n.SameID++
				continue
			}
			seen[g.ID] = struct{}{}
			if err := fn(g); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}
