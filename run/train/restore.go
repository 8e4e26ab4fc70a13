package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/alarms"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Streams of the run's seed: each user of randomness has its own.
const streamSampler = 1

// trainProcess is the name, and processTrain the number, of the process that
// plays inside train. Processes started by `chessbrain selfplay` count from 1.
const (
	trainProcess = "train"
	processTrain = 0
)

// restore builds the trainer and the windows from the newest checkpoint and the
// games on disk, where there are any.
func (r *training) restore(ctx context.Context) error {
	saved, err := r.loadCheckpoint()
	if err != nil {
		return err
	}
	if err := r.newTrainer(); err != nil {
		return err
	}
	r.games = newSplit(r.cfg.GetTraining())
	if err := r.openRows(ctx); err != nil {
		return err
	}
	var entries []run.Entry
	if r.journal, entries, err = run.OpenJournal(r.dir.Journal()); err != nil {
		return err
	}
	if r.back, err = r.restoreGames(ctx, saved, entries); err != nil {
		return err
	}
	if r.games.Train.Rows() == 0 {
		r.state.StepsLeft = 0 // only where the games of the window are lost
	}
	r.lastSaved, r.lastStep = -1, r.trainer.NumSteps()
	if saved != nil {
		r.lastSaved = r.state.Episodes
		if r.savedAt, err = time.Parse(time.RFC3339, saved.Manifest.Created); err != nil {
			return &checkpoint.CorruptError{Path: saved.Path, Reason: err.Error()}
		}
	}
	r.firstStep, r.firstSample = r.trainer.NumSteps(), r.trainer.NumSamples()
	return r.openMetrics()
}

// loadCheckpoint opens the newest whole checkpoint, nil where there is none.
func (r *training) loadCheckpoint() (*checkpoint.Checkpoint, error) {
	for _, dir := range []string{r.dir.Checkpoints, r.dir.Root, r.dir.History()} {
		if _, err := fsx.RemoveTemps(fsx.OS, dir); err != nil { // of a process that was killed
			return nil, fmt.Errorf("clean up %s: %w", dir, err)
		}
	}
	c, err := checkpoint.Load(fsx.OS, r.dir.Checkpoints)
	if errors.Is(err, checkpoint.ErrNoCheckpoint) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, w := range c.Warnings {
		r.log.Warn(w)
	}
	if err := checkOwner(r.opt.Effective, c.Manifest, r.info, c.Path); err != nil {
		return nil, err
	}
	r.resumed = true
	return c, nil
}

// newTrainer makes the trainer with the initial weights.
func (r *training) newTrainer() error {
	cfg, err := setup.TrainerConfig(r.cfg, r.initial.Arch)
	if err != nil {
		return err
	}
	cfg.Window = setup.DeviceWindow(r.cfg)
	r.heads = newHeadRows(cfg.Losses)
	if r.trainer, err = trainer.New(r.initial, cfg); err != nil {
		return err
	}
	for _, w := range r.trainer.Warnings() {
		r.log.Warn(w)
	}
	return nil
}

// sections are all parts of a checkpoint. lookup finds the games that a window
// lists; it is needed for loading only.
func (r *training) sections(lookup func([16]byte) *record.Game) []stage.Section {
	all := []stage.Section{
		r.state.Section(), r.trainer.Section(), r.rows.Section(),
		r.windowSection("window", r.games.Train, lookup), r.windowSection("validation", r.games.Validation, lookup),
	}
	if s := r.pace.Section(); s.Name != "" {
		all = append(all, s)
	}
	return all
}

// windowSection is a window's section that goes on without games that are not
// on disk any more: they were lost with a damaged chunk. The run can go on, but
// not to the same weights, so this is said loudly.
func (r *training) windowSection(name string, w *replay.Window, lookup func([16]byte) *record.Game) stage.Section {
	s := w.Section(name, lookup)
	load := s.Load
	s.Load = func(in io.Reader, version int) error {
		data, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		err = load(bytes.NewReader(data), version)
		var missing *replay.MissingGamesError
		if !errors.As(err, &missing) {
			return err
		}
		r.log.Error("games are lost; the run goes on without them, to other weights than it would have had",
			"section", name, "lost", missing.Missing, "of", missing.Wanted)
		_, ids, err := replay.ReadWindowSection(bytes.NewReader(data))
		for _, id := range ids {
			if g := lookup(id); g != nil {
				w.Add(g)
			}
		}
		return err
	}
	return s
}

// restoreSections loads the checkpoint and names what nobody reads.
func (r *training) restoreSections(ctx context.Context, saved *checkpoint.Checkpoint, lookup func([16]byte) *record.Game) error {
	unclaimed, err := saved.Restore(r.restorable(saved, r.sections(lookup)))
	if err != nil {
		return fmt.Errorf("restore checkpoint %s: %w", saved.Path, err)
	}
	if err := r.rows.Restored(ctx); err != nil {
		return fmt.Errorf("restore checkpoint %s: %w", saved.Path, err)
	}
	for _, name := range unclaimed {
		r.log.Warn("the checkpoint holds a section that nobody reads", "section", name)
	}
	return nil
}

// openMetrics opens the metrics files where the checkpoint left them, so that no
// step appears twice, and the event bus over them.
func (r *training) openMetrics() error {
	var state monitor.FilesState
	if len(r.state.Metrics) > 0 {
		if err := json.Unmarshal(r.state.Metrics, &state); err != nil {
			return fmt.Errorf("metrics position in the checkpoint: %w", err)
		}
	}
	var info monitor.FilesInfo
	var err error
	r.files, info, err = monitor.OpenFiles(monitor.FilesOptions{Dir: r.dir.Metrics, Job: r.info.Job,
		TensorBoard: r.cfg.GetMetrics().GetTensorboard()}, state)
	if err != nil {
		return err
	}
	if info.Lost > 0 {
		r.log.Warn("metrics of earlier steps are gone", "dir", r.dir.Metrics, "bytes", info.Lost)
	}
	if len(info.Moved) > 0 {
		r.log.Info("metrics of an earlier run were renamed", "files", info.Moved)
	}
	r.bus = monitor.NewBus(monitor.BusOptions{Job: r.info.Job, Seq: r.files.Seq()})
	r.bus.Attach(r.files)
	r.bus.Go(1024, alarms.New(r.bus.Publish))
	r.desk.Open(r.bus)
	for _, s := range r.opt.Readers {
		r.bus.Attach(r.forgiving(s))
	}
	if r.opt.Progress != nil {
		r.bus.Go(256, r.forgiving(r.opt.Progress))
	}
	return nil
}

// forgiving wraps a reader whose failure must not end the run, such as a
// terminal that went away. It is left out after its first error.
func (r *training) forgiving(s monitor.Sink) monitor.Sink {
	failed := false
	return monitor.SinkFunc(func(e monitor.Event) error {
		if failed {
			return nil
		}
		if err := s.Handle(e); err != nil {
			failed = true
			r.log.Warn("a display is left out from now on", "error", err)
		}
		return nil
	})
}
