package train

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/trainer"
)

// shuffledRows reads the newest shuffle of a directory, again and again.
type shuffledRows struct {
	plainRows
	ahead
	dirGames // for an exporter
	source   *shuffle.Source
	dir      string
	epochs   bool // of a training in epochs
	log      *slog.Logger
}

// NoDataError says that a training that does not wait has nothing to train on yet.
type NoDataError struct{ err error }

func (e *NoDataError) Error() string {
	return e.err.Error() + "; without --quit-if-no-data a training in epochs waits for one"
}

func (e *NoDataError) Unwrap() error { return e.err }

// ExitCode is that of a shuffle that has too few rows: later there may be more.
func (e *NoDataError) ExitCode() int { return shuffle.ExitShort }

// openShuffled opens the newest shuffle of the run, or of training.source_dir. A
// training in epochs waits for the first one, unless quit_if_no_data is set: then
// it is a *NoDataError.
func (r *training) openShuffled(ctx context.Context) (*shuffledRows, error) {
	dir, w := r.cfg.From(r.dir), &r.cfg.Window
	source, err := shuffle.OpenLatest(fsx.OS, dir)
	if errors.Is(err, shuffle.ErrNone) && r.cfg.Epochs.Quit {
		err = &NoDataError{err}
	} else if errors.Is(err, shuffle.ErrNone) && r.cfg.Epochs.Samples > 0 {
		source, err = r.firstShuffle(ctx, dir)
	}
	if err != nil {
		return nil, err
	}
	m := source.Manifest()
	if want := w.HeldOut; m.Validation != want {
		r.log.Warn("the shuffle holds out another share of games than this run", "shuffle", m.Validation, "run", want)
	}
	if err := w.CheckShuffle(dir, m); err != nil {
		return nil, errors.Join(err, source.Close())
	}
	if want := w.ShortTerm; m.ShortTerm != want {
		r.log.Warn("targets ST of the shuffle have another theta than this run", "shuffle", m.ShortTerm, "run", want)
	}
	source.Repeat = true
	if w.Symmetries {
		source.ShowSymmetries(r.cfg.Seed)
	}
	s := &shuffledRows{ahead: ahead{of: source}, dirGames: dirGames{r.core}, source: source, dir: dir, epochs: r.cfg.Epochs.Samples > 0, log: r.log}
	s.announce(m)
	return s, nil
}

func (s *shuffledRows) announce(m *shuffle.Manifest) {
	s.log.Info("training rows", "shuffle", filepath.Join(s.dir, m.Name), "rows", m.TrainRows, "held_out", m.HeldRows)
}

// firstShuffle waits for the first shuffle of dir. Meanwhile the control socket answers
// status and stop.
func (r *training) firstShuffle(ctx context.Context, dir string) (source *shuffle.Source, err error) {
	why := "the first shuffle in " + dir + ": chessbrain shuffle makes one when there are rows enough (--quit-if-no-data ends the training instead)"
	if err := r.listenWaiting(why); err != nil {
		return nil, err
	}
	say := func(why string) { r.log.Info("waiting", "for", why) }
	err = lookUntil(ctx, r.opt.pause, say, func() (string, error) {
		if source, err = shuffle.OpenLatest(fsx.OS, dir); errors.Is(err, shuffle.ErrNone) {
			return why, nil
		}
		return "", err
	})
	return source, err
}

// Section is where the source stands. A training in epochs whose shuffle is gone
// goes on with the newest one: rows are not promised to it, only their number.
func (s *shuffledRows) Section() stage.Section {
	section := s.ahead.Section()
	return withLoad(section, func(data []byte, version int, err error) error {
		gone, ok := errors.AsType[*shuffle.GoneError](err)
		if !s.epochs || !ok {
			return err
		}
		s.log.Warn("going on with the newest shuffle", "error", gone)
		s.source.Advance(s.source.Manifest())
		return section.Load(bytes.NewReader(data), version)
	})
}

func (s *shuffledRows) Size() (window, generated int64) {
	return s.source.NumRows(), s.source.Manifest().Range[1]
}

func (s *shuffledRows) Close() error { return errors.Join(s.ahead.Close(), s.source.Close()) }

func (s *shuffledRows) HeldOut(_ context.Context, rows int) (trainer.BatchSource, error) {
	if p := s.source.Validation(int64(rows)); p.NumRows() > 0 {
		return p, nil
	}
	return nil, nil
}

// Sample returns the first rows of the newest shuffle.
func (s *shuffledRows) Sample(batch int) (trainer.BatchSource, int, error) {
	source, err := shuffle.OpenLatest(fsx.OS, s.dir)
	return source, wholeBatches(swaRows, batch), err
}

// advance goes over to a newer shuffle and says whether there was one.
func (s *shuffledRows) advance() (newer bool, err error) {
	m, err := s.source.Newer()
	if m == nil || err != nil {
		return false, err
	}
	s.source.Advance(m)
	s.announce(m)
	return true, nil
}
