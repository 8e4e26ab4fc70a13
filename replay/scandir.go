package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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
		games, info, err := ReadChunk(fsys, path)
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
		if info.Torn && len(info.Damage) == 0 && !strings.HasSuffix(info.Path, GrowingSuffix) {
			s.Quarantine = append(s.Quarantine, info.Unsealed())
		}
		for _, g := range games {
			if _, ok := seen[g.ID]; ok {
				s.Duplicates++
				continue
			}
			seen[g.ID] = struct{}{}
			s.NumGames++
			s.Positions += len(g.Plies)
			if err := fn(info.Path, g); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// DirGames yields the games of the chunk files below root, oldest first by the
// nets that played them (see age): those of the newest files that together have
// at least maxRows positions (0 = of all), each once, without the validation
// games of the given share. Only a file's games are held at a time. A directory
// that is not there has none. Damaged games are left out and told to the log.
func DirGames(ctx context.Context, root string, maxRows int64, share float64, log *slog.Logger) iter.Seq2[*record.Game, error] {
	return func(yield func(*record.Game, error) bool) {
		paths, err := newestChunks(ctx, root, maxRows)
		if err != nil {
			yield(nil, fmt.Errorf("games below %s: %w", root, err))
			return
		}
		seen := map[[16]byte]bool{}
		for _, path := range paths {
			games, info, err := ReadChunk(fsx.OS, path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed since it was listed
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, fmt.Errorf("games below %s: %w", root, err))
				return
			}
			for _, d := range info.Damage {
				log.Warn("damaged games were left out", "error", d)
			}
			for _, g := range games {
				if seen[g.ID] || record.IsValidation(g.ID, share) {
					continue
				}
				seen[g.ID] = true
				if !yield(g, nil) {
					return
				}
			}
		}
	}
}

// newestChunks returns the newest chunk files below root, oldest first: as many as
// have at least maxRows positions together, 0 = all.
func newestChunks(ctx context.Context, root string, maxRows int64) ([]string, error) {
	paths, err := ListChunks(fsx.OS, root)
	if err != nil {
		return nil, err
	}
	ages := map[string]age{}
	for _, path := range paths {
		info, err := fsx.OS.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // sealed or removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		ages[path] = ageOf(path, info)
	}
	paths = slices.SortedFunc(maps.Keys(ages), func(a, b string) int {
		return cmp.Or(ages[a].compare(ages[b]), cmp.Compare(a, b))
	})
	if maxRows <= 0 {
		return paths, nil
	}
	first := len(paths)
	for rows := int64(0); first > 0 && rows < maxRows; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		first--
		_, info, err := ReadChunk(fsx.OS, paths[first])
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		rows += int64(info.Positions)
	}
	return paths[first:], nil
}

// age says how old a chunk file <net>/<process>/<number> is, by its names: a copy of a
// directory has other times. The name of a net has the rows that the run had played before
// it and the samples that it was trained on. The time decides between processes of one net,
// and among nets of other names, which are older than all these.
type age struct {
	trained       bool // the net's name says the rest
	rows, samples uint64
	number        string // of the file in its process, as many digits as all
	modified      time.Time
}

var trainedNet = regexp.MustCompile(`-s(\d+)-d(\d+)$`)

func ageOf(path string, info fs.FileInfo) age {
	a := age{modified: info.ModTime()}
	net := filepath.Base(filepath.Dir(filepath.Dir(path)))
	if m := trainedNet.FindStringSubmatch(net); m != nil {
		a.samples, _ = strconv.ParseUint(m[1], 10, 64) // too large a number is the newest
		a.rows, _ = strconv.ParseUint(m[2], 10, 64)
		a.trained = true
	}
	if a.trained || net == "random" {
		a.number, _, _ = strings.Cut(filepath.Base(path), ".")
	}
	return a
}

func (a age) compare(b age) int {
	if a.trained != b.trained {
		return cmp.Compare(strconv.FormatBool(a.trained), strconv.FormatBool(b.trained))
	}
	return cmp.Or(cmp.Compare(a.rows, b.rows), cmp.Compare(a.samples, b.samples), cmp.Compare(a.number, b.number), a.modified.Compare(b.modified))
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
	entries, err := fsx.Entries(fsys, dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
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
