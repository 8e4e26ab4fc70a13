package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay/importer"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/trainer"
)

const (
	// heldOutOutput is the loader's output whose rows are never trained on.
	heldOutOutput = "validation"
	// heldOutWait is how long the first validation waits for rows, heldOutLook a later
	// one after that was in vain: a loader that gives none must not hold training up.
	heldOutWait, heldOutLook = 20 * time.Second, 10 * time.Millisecond
)

// loaderRows trains from the first output of the data loader, which prepares
// batches itself, and validates on rows of its output "validation": the first
// that come, the same ones ever after.
type loaderRows struct {
	plainRows
	loader   *loader.Loader
	dirGames                // for an exporter
	held     *loader.Output // nil = none
	waited   bool           // for its rows
	most     int            // rows to hold out
	pass     memory
	latest   memory // training rows handed out last, where an average needs them
	log      *slog.Logger

	ctx   context.Context // of Ahead: ends the wait for rows
	waits atomic.Bool     // Next is under way
}

// openLoader builds the loader of the configuration.
func (r *training) openLoader(ctx context.Context) (*loaderRows, error) {
	if err := r.importPGN(ctx); err != nil {
		return nil, err
	}
	l, warnings, err := r.cfg.OpenLoader(ctx, r.stages.Host())
	if err != nil {
		return nil, err
	}
	for _, warning := range warnings {
		r.log.Warn(warning)
	}
	s := &loaderRows{loader: l, dirGames: dirGames{r.core}, most: r.cfg.Validation.Rows, log: r.log}
	if r.cfg.Averages {
		s.latest.most = swaRows
	}
	if s.held, err = l.Output(heldOutOutput); err != nil {
		s.held = nil
		r.log.Warn("the data loader has no output of this name: losses are not measured on rows never trained on", "output", heldOutOutput)
	}
	return s, nil
}

// Next waits for rows until the run is stopped; the caller's context, which
// outlives that for the sake of a step under way, does not count.
func (s *loaderRows) Next(_ context.Context, b *encoding.TrainBatch) error {
	s.waits.Store(true)
	err := s.loader.Next(s.ctx, b)
	s.waits.Store(false)
	if err != nil {
		return err
	}
	s.latest.add(b)
	return nil
}

func (s *loaderRows) Ahead(ctx context.Context) { s.ctx = ctx }

func (s *loaderRows) Section() stage.Section          { return s.loader.Section() }
func (s *loaderRows) Size() (window, generated int64) { return 0, 0 }
func (s *loaderRows) Close() error                    { return s.loader.Close() }

func (s *loaderRows) Waiting() string {
	if s.waits.Load() {
		return "rows of the data loader"
	}
	return ""
}

func (s *loaderRows) HeldOut(ctx context.Context, rows int) (trainer.BatchSource, error) {
	if s.held == nil {
		return nil, nil
	}
	if s.pass.rows() == 0 {
		if err := s.hold(ctx); err != nil || s.pass.rows() == 0 {
			return nil, err
		}
	}
	return s.pass.source(rows), nil
}

// hold collects the held-out rows. Few or none within the wait are no error; the end of
// the run ends it, too.
func (s *loaderRows) hold(ctx context.Context) error {
	limit := heldOutWait
	if s.waited {
		limit = heldOutLook
	}
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if s.ctx != nil {
		defer context.AfterFunc(s.ctx, cancel)()
	}
	b := encoding.NewTrainBatch(s.most)
	if err := s.held.Next(wait, b); err != nil && !errors.Is(err, io.EOF) && wait.Err() == nil {
		return err
	}
	if b.N < s.most && !s.waited {
		s.log.Warn("few rows to validate on", "rows", b.N, "wanted", s.most)
	}
	s.waited = true
	s.pass.most = s.most
	s.pass.add(b)
	return ctx.Err()
}

// Sample returns the rows trained on last.
func (s *loaderRows) Sample(batch int) (trainer.BatchSource, int, error) {
	if s.latest.rows() == 0 {
		return nil, 0, nil
	}
	rows := wholeBatches(swaRows, batch)
	return s.latest.source(rows), rows, nil
}

// memory keeps copies of the newest rows, at least most of them.
type memory struct {
	most    int // 0 = keeps nothing
	batches []*encoding.TrainBatch
}

func (m *memory) rows() (n int) {
	for _, b := range m.batches {
		n += b.N
	}
	return n
}

// add copies the rows of b and forgets the oldest that are not needed.
func (m *memory) add(b *encoding.TrainBatch) {
	if m.most == 0 || b.N == 0 {
		return
	}
	own := encoding.NewTrainBatch(b.N)
	own.CopyFrom(b)
	m.batches = append(m.batches, own)
	for len(m.batches) > 1 && m.rows()-m.batches[0].N >= m.most {
		m.batches = m.batches[1:]
	}
}

// source goes once through the rows, oldest first, at most so many.
func (m *memory) source(rows int) trainer.BatchSource {
	return &memoryPass{batches: m.batches, left: rows}
}

type memoryPass struct {
	batches []*encoding.TrainBatch
	next    int // row of batches[0]
	left    int
}

// Next fills b; io.EOF when nothing is left.
func (p *memoryPass) Next(ctx context.Context, b *encoding.TrainBatch) error {
	for b.N < len(b.Masks) && p.left > 0 && len(p.batches) > 0 {
		if p.next == p.batches[0].N {
			p.batches, p.next = p.batches[1:], 0
			continue
		}
		b.AppendRow(p.batches[0], p.next)
		p.next++
		p.left--
	}
	if b.N == 0 {
		return io.EOF
	}
	return ctx.Err()
}

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
