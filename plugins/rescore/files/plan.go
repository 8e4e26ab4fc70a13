package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
)

// Kind says what a file holds.
type Kind string

// The kinds of files.
const (
	Games      Kind = "games"       // chunk of games, *.games or growing *.games.tmp
	LeelaChunk Kind = "leela-chunk" // *.gz: one game
	LeelaTar   Kind = "leela-tar"   // *.tar: a game a member
)

// ErrInput says that inputs or the output directory cannot be used.
var ErrInput = errors.New("rescore files")

// Job is one file to rescore.
type Job struct {
	In   string `json:"in"`
	Out  string `json:"out"`
	Kind Kind   `json:"kind"`
}

// KindOf tells a file's kind by its name.
func KindOf(path string) (Kind, bool) {
	base := filepath.Base(path)
	switch {
	case strings.HasPrefix(base, "."):
		return "", false
	case replay.IsChunk(base):
		return Games, true
	case strings.HasSuffix(base, ".gz"):
		return LeelaChunk, true
	case strings.HasSuffix(base, ".tar"):
		return LeelaTar, true
	}
	return "", false
}

// Plan lists the files of inputs, which are files or directories, and where in
// the directory out each goes: a file under its name, those below a directory
// under their path there. Names with a dot in front are left out. Errors wrap
// ErrInput: an input that is not there or holds no such file, two files of one
// name, and an out that lies in an input directory.
func Plan(inputs []string, out string) ([]Job, error) {
	if fsx.IsFile(out) {
		return nil, fmt.Errorf("%w: %s is a file: name a directory for the output", ErrInput, out)
	}
	var jobs []Job
	for _, in := range inputs {
		info, err := os.Stat(in)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInput, err)
		}
		kind, ok := KindOf(in)
		switch {
		case info.IsDir():
			if jobs, err = planDir(jobs, in, out); err != nil {
				return nil, err
			}
		case ok:
			jobs = append(jobs, Job{in, filepath.Join(out, replay.SealedName(filepath.Base(in))), kind})
		default:
			return nil, fmt.Errorf("%w: %s: want *.games, *.gz, *.tar or a directory of them", ErrInput, in)
		}
	}
	from := map[string]string{}
	for _, j := range jobs {
		if other, ok := from[j.Out]; ok {
			return nil, fmt.Errorf("%w: %s and %s would both become %s: rescore them into two directories", ErrInput, other, j.In, j.Out)
		}
		from[j.Out] = j.In
		if fsx.SameFile(j.In, j.Out) {
			return nil, fmt.Errorf("%w: %s would be written over itself: choose another directory for the output", ErrInput, j.In)
		}
	}
	return jobs, nil
}

// planDir adds the files below a directory in path order.
func planDir(jobs []Job, dir, out string) ([]Job, error) {
	if within(out, dir) {
		return nil, fmt.Errorf("%w: the output %s lies in the input %s: choose a directory outside", ErrInput, out, dir)
	}
	paths, err := replay.ListFiles(fsx.OS, dir, func(base string) bool { _, ok := KindOf(base); return ok })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: %s holds no *.games, *.gz or *.tar", ErrInput, dir)
	}
	for _, path := range paths {
		kind, _ := KindOf(path)
		below, _ := filepath.Rel(dir, path) // path is below dir
		jobs = append(jobs, Job{path, filepath.Join(out, replay.SealedName(below)), kind})
	}
	return jobs, nil
}

// within says whether path is dir or lies in it, symbolic links followed as far
// as they exist.
func within(path, dir string) bool {
	rel, err := filepath.Rel(fsx.RealPath(dir), fsx.RealPath(path))
	return err == nil && filepath.IsLocal(rel)
}
