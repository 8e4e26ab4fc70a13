package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/chunks"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
)

// Names of data that are no paths.
const (
	Validation = "validation" // the games that the run of a checkpoint held out
	Loader     = "loader"     // what the section data_loader of the configuration delivers
)

// Rows are training rows from games, from a shuffle or from a loader; one of the
// three is set.
type Rows struct {
	Name     string  // what was read
	Games    int     // 0 of a shuffle and of a loader
	Problems []error // what could not be read and was left out

	training *setup.Training // whose rows they are like
	window   *replay.Window
	shuffled *shuffle.Source
	loader   *setup.Loader
	closers  []io.Closer
}

// OpenRows reads data: Validation, Loader, a run directory (all of its games), a
// directory of shuffles, or files and directories of games (*.games, Leela's *.gz
// and *.tar). Where nothing is there the error has exit code 2.
func OpenRows(ctx context.Context, s *Subject, data string) (*Rows, error) {
	r := &Rows{Name: data, training: setup.TrainingOf(s.Effective)}
	switch data {
	case "":
		return nil, inputError{errors.New("no data: name a run, a directory of games or of shuffles, or loader")}
	case Validation:
		return r, r.openValidation(ctx, s)
	case Loader:
		l, err := setup.OpenLoader(ctx, s.Effective, s.Run, pluginLog())
		if err != nil {
			return nil, err
		}
		r.loader, r.closers = l, []io.Closer{l}
		return r, nil
	}
	names, err := shuffle.List(fsx.OS, data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !fsx.IsFile(data) {
		return nil, err
	}
	if len(names) > 0 {
		src, err := shuffle.OpenLatest(fsx.OS, data)
		if err != nil {
			return nil, err
		}
		if r.training.Window.Symmetries {
			src.ShowSymmetries(r.training.Seed)
		}
		r.shuffled, r.closers = src, []io.Closer{src}
		return r, nil
	}
	if _, ok, err := run.ReadRunInfo(data); err == nil && ok && !fsx.IsFile(data) {
		dir, _, err := setup.OpenDir(data)
		if err != nil {
			return nil, err
		}
		file, err := config.LoadKept(dir.ConfigFile())
		if err != nil {
			return nil, err
		}
		data = setup.GamesDir(dir, file.Config)
	}
	return r, r.readGames(ctx, data)
}

// readGames puts all games of a path into the window.
func (r *Rows) readGames(ctx context.Context, path string) error {
	var err error
	r.window, r.Problems, err = chunks.Window(ctx, fsx.OS, path)
	if errors.Is(err, chunks.ErrInput) {
		return inputError{fmt.Errorf("data %s: %w", r.Name, err)}
	}
	if err != nil {
		return err
	}
	return r.counted()
}

// counted notes the games, and refuses none.
func (r *Rows) counted() error {
	r.Games = r.window.Games()
	if r.Games == 0 && len(r.Problems) > 0 {
		return inputError{fmt.Errorf("data %s: nothing could be read: %w", r.Name, r.Problems[0])}
	}
	if r.Games == 0 {
		return inputError{fmt.Errorf("data %s: no position with a policy and a weight above 0; name games that were played or imported for training", r.Name)}
	}
	return nil
}

// openValidation finds the games of the validation window of a checkpoint, in its
// order: the same rows as those of the run's own measurements.
func (r *Rows) openValidation(ctx context.Context, s *Subject) error {
	if s.Checkpoint == nil || s.Run == "" {
		return inputError{fmt.Errorf("validation games: %s belongs to no run directory; name other data", s.Name)}
	}
	f, err := s.Checkpoint.Open("validation.section")
	if errors.Is(err, fs.ErrNotExist) {
		return inputError{fmt.Errorf("validation games: checkpoint %s keeps none; name other data", s.Name)}
	}
	if err != nil {
		return err
	}
	_, ids, err := replay.ReadWindowSection(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("checkpoint %s: %w", s.Checkpoint.Path, err)
	}
	dir, _, err := setup.OpenDir(s.Run)
	if err != nil {
		return err
	}
	found := make(map[[16]byte]*record.Game, len(ids))
	for _, id := range ids {
		found[id] = nil
	}
	scan, err := replay.WalkGames(ctx, fsx.OS, setup.GamesDir(dir, s.Effective.Config), func(_ string, g *record.Game) error {
		if _, ok := found[g.ID]; ok {
			found[g.ID] = g
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Problems = scan.Quarantine
	r.window = replay.NewWindow(math.MaxInt)
	for _, id := range ids {
		if g := found[id]; g != nil {
			r.window.Add(g)
		}
	}
	if missing := len(ids) - r.window.Games(); missing > 0 {
		r.Problems = append(r.Problems, fmt.Errorf("%d of the %d validation games are not on disk any more", missing, len(ids)))
	}
	if len(ids) == 0 {
		return inputError{fmt.Errorf("validation games: checkpoint %s was written before there were any; name other data", s.Name)}
	}
	return r.counted()
}

// Pass goes over at most maxRows rows, which lie evenly spread (those of a loader
// come as they are); maxRows <= 0 means all. Of a shuffle it takes the rows that
// are held out for validation.
func (r *Rows) Pass(maxRows int) trainer.BatchSource {
	switch {
	case r.shuffled != nil:
		return r.shuffled.Validation(int64(maxRows))
	case r.loader != nil:
		return r.loader
	}
	return replay.NewPass(r.window, maxRows, r.training.Window.Extra)
}

// Close ends a loader and programs, and closes files.
func (r *Rows) Close() (err error) {
	for _, c := range r.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// pluginLog takes what programs log: from warnings on it goes to the default
// logger.
func pluginLog() *slog.Logger { return slog.New(warnings{slog.Default().Handler()}) }

// warnings is a handler for warnings and errors.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
