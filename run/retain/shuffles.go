package retain

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

// shuffleDir is a finished shuffle.
type shuffleDir struct {
	name, path string
	bytes      int64
	manifest   *shuffle.Manifest
	held       string // why it stays whatever the limits say; empty = it may go
	gone       bool
}

// finishShuffles removes what an earlier call was killed at.
func (g *collector) finishShuffles() error {
	if g.opt.DryRun {
		return nil
	}
	return fsx.RemoveTemps(fsx.OS, g.dir.Shuffled(), fsx.RemovedMark)
}

// findShuffles lists the finished shuffles, and which of them are needed.
func (g *collector) findShuffles() error {
	dir := g.dir.Shuffled()
	names, err := shuffle.List(fsx.OS, dir)
	if err != nil {
		return err
	}
	needed, err := g.neededShuffles()
	if err != nil {
		return err
	}
	for _, name := range names {
		s := shuffleDir{name: name, path: filepath.Join(dir, name)}
		strangers := false
		if s.manifest, err = shuffle.ReadManifest(fsx.OS, s.path); err == nil {
			s.bytes, strangers, err = shuffleFiles(s.path, s.manifest)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed by its own program since
		}
		damaged := err
		if damaged != nil {
			s.manifest = new(shuffle.Manifest) // it says nothing
		}
		pinned, err := g.pinned(s.path)
		if err != nil {
			return err
		}
		switch {
		case damaged != nil:
			s.held = "it cannot be read: " + damaged.Error()
		case needed.has(name):
			s.held = "a trainer is at it, or goes on from there"
		case pinned:
			s.held = "it is pinned"
		case strangers:
			s.held = "files are in it that no shuffle wrote"
		}
		g.shuffles = append(g.shuffles, s)
	}
	if n := len(g.shuffles); n > 0 {
		g.shuffles[n-1].held = "it is the newest"
	}
	return nil
}

// shuffleFiles returns the size of a shuffle, and whether anything else is in its
// directory.
func shuffleFiles(dir string, m *shuffle.Manifest) (bytes int64, strangers bool, err error) {
	own := map[string]bool{}
	for _, name := range m.Files() {
		own[name] = true
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			strangers = strangers || !slices.Contains([]string{".", "train", "val"}, rel)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		bytes += info.Size()
		strangers = strangers || !own[rel]
		return nil
	})
	return bytes, strangers, err
}

// pruneShuffles removes all but the newest.
func (g *collector) pruneShuffles() error {
	keep := g.opt.Keep.Shuffles
	for i := range g.shuffles[:max(0, len(g.shuffles)-max(keep, 1))] {
		if s := &g.shuffles[i]; s.held != "" {
			g.note("%s/%s: %s", inRun.Shuffled(), s.name, s.held)
		} else if err := g.removeShuffle(s, fmt.Sprintf("older than the newest %d", keep)); err != nil {
			return err
		}
	}
	return nil
}

// removeShuffle removes a shuffle that is not held.
func (g *collector) removeShuffle(s *shuffleDir, reason string) error {
	if s.held != "" {
		return nil
	}
	s.gone = true
	return g.remove(ClassShuffle, s.path, s.bytes, reason, func() error { return fsx.RemoveDir(fsx.OS, s.path) })
}
