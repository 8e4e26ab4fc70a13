package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// dirGames are the games of a training whose rows come from elsewhere: the newest of
// the run's own directory, as many as a window holds.
type dirGames struct{ c *core }

func (d dirGames) Games(ctx context.Context) iter.Seq2[*record.Game, error] {
	return DirGames(ctx, d.c.dir.Selfplay(), d.c.cfg.Window.Rows, d.c.cfg.Window.HeldOut, d.c.log)
}

// DirGames yields the games of the chunk files below root, oldest first by the
// time of their file's last change: those of the newest files that together have
// at least maxRows positions (0 = of all), each once, without the validation
// games of the given share. Only a file's games are held at a time. A directory
// that is not there has none. Damaged games are left out and told to the log.
func DirGames(ctx context.Context, root string, maxRows int64, share float64, log *slog.Logger) iter.Seq2[*record.Game, error] {
	return func(yield func(*record.Game, error) bool) {
		files, err := newestGameFiles(ctx, root, maxRows)
		if err != nil {
			yield(nil, fmt.Errorf("games below %s: %w", root, err))
			return
		}
		seen := map[[16]byte]bool{}
		for _, f := range files {
			games, info, err := f.read()
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

// gameFile is a chunk file as it was found.
type gameFile struct {
	path     string
	modified time.Time
}

// read reads the file's games. One that grew when it was found may have been
// sealed since.
func (f gameFile) read() ([]*record.Game, replay.ChunkInfo, error) {
	games, info, err := replay.ReadChunk(fsx.OS, f.path)
	if sealed, growing := strings.CutSuffix(f.path, replay.GrowingSuffix); growing && errors.Is(err, fs.ErrNotExist) {
		return replay.ReadChunk(fsx.OS, sealed+replay.SealedSuffix)
	}
	return games, info, err
}

// newestGameFiles returns the newest chunk files below root, oldest first: as
// many as have at least maxRows positions together, 0 = all.
func newestGameFiles(ctx context.Context, root string, maxRows int64) ([]gameFile, error) {
	var files []gameFile
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // nothing there, or sealed or removed meanwhile
		case err != nil:
			return err
		case strings.HasPrefix(d.Name(), ".") && path != root:
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || !strings.HasSuffix(path, replay.SealedSuffix) && !strings.HasSuffix(path, replay.GrowingSuffix):
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			files = append(files, gameFile{path, info.ModTime()})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b gameFile) int {
		return cmp.Or(a.modified.Compare(b.modified), cmp.Compare(a.path, b.path))
	})
	if maxRows <= 0 {
		return files, nil
	}
	first := len(files)
	for rows := int64(0); first > 0 && rows < maxRows; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		first--
		_, info, err := files[first].read()
		if err != nil {
			return nil, err
		}
		rows += int64(info.Positions)
	}
	return files[first:], nil
}
