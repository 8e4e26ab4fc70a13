package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
)

// Scan is what a directory tree of chunks holds.
type Scan struct {
	Games      []*record.Game // each once, by ordinal, then id (empty after WalkGames)
	Chunks     []ChunkInfo    // in path order
	NumGames   int            // different ones
	Positions  int            // of those
	Duplicates int            // games found again; the first in path order counts
	Quarantine []error        // what was left out: *CorruptError, *VersionError, unreadable files
}

// ScanDir reads all games below dir, from sealed chunks and from torn or
// growing ones. A directory that does not exist holds nothing. What cannot be
// used is listed in Quarantine; the error is for a tree that cannot be read and
// for a context that ended.
func ScanDir(ctx context.Context, fsys fsx.FS, dir string) (*Scan, error) {
	var games []*record.Game
	s, err := WalkGames(ctx, fsys, dir, func(_ string, g *record.Game) error {
		games = append(games, g)
		return nil
	})
	if err != nil {
		return nil, err
	}
	sortGames(games)
	s.Games = games
	return s, nil
}

// WalkGames calls fn for every game below dir, each once, chunk by chunk in
// path order, without keeping them. An error of fn ends the walk.
func WalkGames(ctx context.Context, fsys fsx.FS, dir string, fn func(path string, g *record.Game) error) (*Scan, error) {
	paths, err := ListChunks(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("scan %s: %w", dir, err)
	}
	s := &Scan{}
	seen := map[[16]byte]struct{}{}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		path, games, info, err := readListed(fsys, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since it was listed
		}
		if err != nil {
			s.Quarantine = append(s.Quarantine, err)
			continue
		}
		s.Chunks = append(s.Chunks, info)
		for _, d := range info.Damage {
			s.Quarantine = append(s.Quarantine, d)
		}
		for _, g := range games {
			if _, ok := seen[g.ID]; ok {
				s.Duplicates++
				continue
			}
			seen[g.ID] = struct{}{}
			s.NumGames++
			s.Positions += len(g.Plies)
			if err := fn(path, g); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// readListed reads a chunk that was listed, also where its writer has sealed it since.
func readListed(fsys fsx.FS, path string) (at string, games []*record.Game, info ChunkInfo, err error) {
	games, info, err = ReadChunk(fsys, path)
	if sealed := SealedName(path); sealed != path && errors.Is(err, fs.ErrNotExist) {
		path = sealed
		games, info, err = ReadChunk(fsys, path)
	}
	return path, games, info, err
}

// sortGames orders games by ordinal, then id.
func sortGames(games []*record.Game) {
	slices.SortStableFunc(games, func(a, b *record.Game) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), slices.Compare(a.ID[:], b.ID[:]))
	})
}

// SealedName is the name of a chunk file once it is sealed.
func SealedName(path string) string {
	if stem, growing := strings.CutSuffix(path, GrowingSuffix); growing {
		return stem + SealedSuffix
	}
	return path
}

// IsChunk says whether a base name is that of a chunk file. Names with a dot in
// front are somebody's temporary files.
func IsChunk(base string) bool {
	return !strings.HasPrefix(base, ".") && (strings.HasSuffix(base, SealedSuffix) || strings.HasSuffix(base, GrowingSuffix))
}

// ListChunks returns the chunk files below dir in path order, none where there is no
// such directory.
func ListChunks(fsys fsx.FS, dir string) ([]string, error) { return ListFiles(fsys, dir, IsChunk) }

// ListFiles is ListChunks of the files with a wanted base name. What has a dot in front
// is somebody's own, directories too.
func ListFiles(fsys fsx.FS, dir string, wanted func(base string) bool) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			below, err := ListFiles(fsys, name, wanted)
			if err != nil {
				return nil, err
			}
			paths = append(paths, below...)
		case wanted(e.Name()):
			paths = append(paths, name)
		}
	}
	return paths, nil
}
