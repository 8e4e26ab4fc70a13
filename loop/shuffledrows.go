package loop

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/stage"
	"github.com/chessbrain/chessbrain/trainer"
)

// shuffledRows reads the newest shuffle of a directory, again and again.
type shuffledRows struct {
	source *shuffle.Source
	dir    string
	log    *slog.Logger
}

// openShuffled opens the newest shuffle of the run, or of training.source_dir.
func (r *run) openShuffled() (rowSource, error) {
	dir, t := r.cfg.GetTraining().GetSourceDir(), r.cfg.GetTraining()
	if dir == "" {
		dir = r.dir.shuffled()
	}
	source, err := shuffle.OpenLatest(dir)
	if err != nil {
		return nil, err
	}
	m := source.Manifest()
	if want := t.GetValidation().GetShare(); m.Validation != want {
		r.log.Warn("the shuffle holds out another share of games than this run", "shuffle", m.Validation, "run", want)
	}
	if want := t.GetStTheta(); m.ShortTerm != want {
		r.log.Warn("targets ST of the shuffle have another theta than this run", "shuffle", m.ShortTerm, "run", want)
	}
	source.Repeat(true)
	if t.GetSymmetries() {
		source.ShowSymmetries(r.cfg.GetSeed())
	}
	s := &shuffledRows{source, dir, r.log}
	s.announce(m)
	return s, nil
}

func (s *shuffledRows) announce(m *shuffle.Manifest) {
	s.log.Info("training rows", "shuffle", filepath.Join(s.dir, m.Name), "rows", m.TrainRows, "held_out", m.HeldRows)
}

func (s *shuffledRows) Section() stage.Section { return s.source.Section() }

func (s *shuffledRows) NumRows() int64 { return s.source.NumRows() }

func (s *shuffledRows) Generated() int64 { return s.source.Manifest().Range[1] }

func (s *shuffledRows) Close() error { return s.source.Close() }

func (s *shuffledRows) Ahead(context.Context) (cursor, func() error) {
	p := replay.Prefetch(s.source, prefetchDepth)
	return p, p.Close
}

func (s *shuffledRows) HeldOut(_ context.Context, rows int) (trainer.BatchSource, error) {
	if p := s.source.Validation(int64(rows)); p.NumRows() > 0 {
		return p, nil
	}
	return nil, nil
}

// Sample returns the first rows of the newest shuffle.
func (s *shuffledRows) Sample(int) (trainer.BatchSource, error) { return shuffle.OpenLatest(s.dir) }

// Refresh goes over to a newer shuffle.
func (s *shuffledRows) Refresh() error {
	m, err := s.source.Newer()
	if m != nil {
		s.source.Advance(m)
		s.announce(m)
	}
	return err
}
