package shuffle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// GameFile is a game file as a shuffle sees it.
type GameFile struct {
	Path     string
	Modified time.Time
	Bytes    int64
	Rows     int64 // meant for training, on either side of the split
	Growing  bool  // somebody may be writing it
	Damaged  bool  // in part
}

// GameFiles returns the game files below the directories, newest first: in the
// order in which a shuffle into outputDir takes them. It changes nothing.
func GameFiles(ctx context.Context, fsys fsx.FS, inputDirs []string, outputDir string, threads int) ([]GameFile, error) {
	chunks, err := listChunks(fsys, inputDirs)
	if err != nil {
		return nil, err
	}
	old, err := readIndex(fsys, filepath.Join(outputDir, indexName))
	if err != nil && !errors.Is(err, errIndex) { // without an index the files are read
		return nil, err
	}
	if _, err := countChunks(ctx, fsys, chunks, old, max(threads, 1)); err != nil {
		return nil, err
	}
	files := make([]GameFile, len(chunks))
	for i, c := range chunks {
		files[i] = GameFile{Path: c.path, Modified: c.modified, Bytes: c.bytes, Growing: c.growing(), Damaged: len(c.problems) > 0}
		for _, g := range c.games {
			files[i].Rows += int64(g.rows)
		}
	}
	return files, nil
}

// SideRows counts the rows of a file's games on each side of the split.
func (s Settings) SideRows(path string, games []*record.Game) (train, val int64) {
	for _, g := range games {
		if s.validation(path, g.ID) {
			val += int64(g.NumRows())
		} else {
			train += int64(g.NumRows())
		}
	}
	return train, val
}

// Untrained says whether a net of this name never saw a sample: the window counts
// its rows only until there are enough.
func Untrained(net string) bool { return untrained.MatchString(net) }

// count finds and counts the games, and what retention has removed of them.
// Retention may be at work meanwhile: what it removes between the two looks would
// count twice or not at all, so it is done again then.
func (o *Options) count(ctx context.Context, old index) (chunks []*chunk, fresh index, removed []replay.RemovedFile, err error) {
	for {
		if removed, err = removedBelow(o.FS, o.InputDirs); err != nil {
			return nil, nil, nil, err
		}
		if chunks, err = listChunks(o.FS, o.InputDirs); err != nil {
			return nil, nil, nil, err
		}
		if fresh, err = countChunks(ctx, o.FS, chunks, old, o.Threads); err != nil {
			return nil, nil, nil, err
		}
		now, err := removedBelow(o.FS, o.InputDirs)
		if err != nil || len(now) == len(removed) { // files are never taken off the list
			return chunks, fresh, removed, err
		}
		old = fresh
	}
}

// removedBelow lists the files that retention removed below the directories.
func removedBelow(fsys fsx.FS, dirs []string) (all []replay.RemovedFile, err error) {
	seen := map[string]bool{}
	for _, dir := range dirs {
		if dir = filepath.Clean(dir); seen[dir] {
			continue
		}
		seen[dir] = true
		removed, err := replay.ReadRemoved(fsys, dir)
		if err != nil {
			return nil, err
		}
		all = append(all, removed...)
	}
	return all, nil
}

// UnfinishedInputs returns the game files that shuffles which were begun in dir
// and not finished read.
func UnfinishedInputs(fsys fsx.FS, dir string) (inputs []Input, err error) {
	names, err := leftovers(fsys, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		for _, file := range []string{planName, MarkerName} {
			var p Plan
			err := readJSON(fsys, filepath.Join(dir, name+tempSuffix, file), &p)
			if _, corrupt := errors.AsType[*CorruptError](err); corrupt || errors.Is(err, fs.ErrNotExist) {
				continue // the next shuffle removes it
			}
			if err != nil {
				return nil, fmt.Errorf("unfinished shuffle %s: %w", name, err)
			}
			inputs = append(inputs, p.Inputs...)
		}
	}
	return inputs, nil
}

// SavedShuffles reads what Source.Section saved and returns the shuffles that a
// trainer needs to go on from there.
func SavedShuffles(r io.Reader) ([]string, error) {
	var at cursor
	if err := json.NewDecoder(r).Decode(&at); err != nil {
		return nil, fmt.Errorf("shuffle_source section: %w", err)
	}
	names := []string{at.Shuffle}
	if at.Target != "" {
		names = append(names, at.Target)
	}
	for _, name := range names {
		if !isName(name) {
			return nil, fmt.Errorf("shuffle_source section: %q is no shuffle", name)
		}
	}
	return names, nil
}

// Files lists the files of a shuffle below its directory, the marker last.
func (m *Manifest) Files() []string {
	var names []string
	for _, f := range slices.Concat(m.Train, m.Val) {
		names = append(names, filepath.FromSlash(f.Name))
	}
	return append(names, MarkerName)
}
