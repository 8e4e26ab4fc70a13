package prepare

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/chessbrain/chessbrain/internal/fsx"
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
