package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
)

// DirGames yields the games of the chunk files below root, oldest first by the
// time of their file's last change: those of the newest files that together have
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
			_, games, info, err := readListed(fsx.OS, path)
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
	modified := map[string]time.Time{}
	for _, path := range paths {
		info, err := fsx.OS.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // sealed or removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		modified[path] = info.ModTime()
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return modified[path].IsZero() })
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Or(modified[a].Compare(modified[b]), cmp.Compare(a, b)) })
	if maxRows <= 0 {
		return paths, nil
	}
	first := len(paths)
	for rows := int64(0); first > 0 && rows < maxRows; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		first--
		_, _, info, err := readListed(fsx.OS, paths[first])
		if err != nil {
			return nil, err
		}
		rows += int64(info.Positions)
	}
	return paths[first:], nil
}
