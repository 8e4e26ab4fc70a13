package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/importer"
	"github.com/chessbrain/chessbrain/run"
)

// importedFile is a PGN file that was imported whole, as the run notes it. Where a file
// has changed since, all are read again, which adds no game twice.
type importedFile struct {
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // ns since 1970
}

// importPGN imports the PGN files of the training's data set into the run: the move played
// is the policy's target, the result the value's. Games that cannot be read are told and
// left out.
func (r *training) importPGN(ctx context.Context) error {
	paths, err := r.cfg.PGNFiles()
	if err != nil || len(paths) == 0 {
		return err
	}
	var files, before []importedFile
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		info, err := fsx.OS.Stat(path)
		if err != nil {
			return err
		}
		files = append(files, importedFile{abs, info.Size(), info.ModTime().UnixNano()})
	}
	into := r.dir.Imported()
	note := filepath.Join(into, "imported.json")
	if _, err := run.ReadJSON(note, &before); err == nil && slices.Equal(files, before) {
		return nil
	}
	r.log.Info("importing PGN", "data", r.cfg.Data, "files", len(files), "into", into)
	im, err := importer.Open(ctx, importer.Options{Dir: into, Targets: importer.Targets{DrawRate: math.NaN()},
		OnBad: func(b importer.Bad) { r.log.Warn("a game is left out", "game", b.String()) }})
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err = importFile(ctx, im, path); err != nil {
			break
		}
	}
	if err := errors.Join(err, im.Close()); err != nil {
		return err
	}
	done := im.Report()
	r.log.Info("imported", "games", done.Before+done.Imported, "new", done.Imported, "bad", done.BadGames)
	if done.Before+done.Imported == 0 {
		return fmt.Errorf("training.data: no game of %s can be trained on", r.cfg.Data)
	}
	return run.WriteJSON(note, files)
}

func importFile(ctx context.Context, im *importer.Importer, path string) error {
	f, err := importer.OpenFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return im.Read(ctx, path, f)
}
