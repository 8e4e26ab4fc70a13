package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/stage"
	"github.com/chessbrain/chessbrain/trainer"
)

// Streams of the run's seed: each user of randomness has its own.
const streamSampler = 1

// trainProcess is the name, and processTrain the number, of the process that
// plays inside train. Processes started by `chessbrain selfplay` count from 1.
const (
	trainProcess = "train"
	processTrain = 0
)

// restore builds the trainer, the windows and the feed, from the newest
// checkpoint and the games on disk where there are any.
func (r *run) restore(ctx context.Context) error {
	checkpoint, err := trainer.LoadCheckpoint(fsx.OS, r.dir.Checkpoints)
	if err != nil && !errors.Is(err, trainer.ErrNoCheckpoint) {
		return err
	}
	if checkpoint != nil {
		for _, w := range checkpoint.Warnings {
			r.log.Warn(w)
		}
	}
	if err := r.newTrainer(); err != nil {
		return err
	}
	t := r.cfg.GetTraining()
	r.games = replay.NewSplit(int(t.GetReplaySize()), int(t.GetReplaySize()), t.GetValidation().GetShare())
	r.source = replay.NewSource(r.games.Train, r.stages.sampler, r.cfg.GetSeed(), streamSampler)
	r.cursor = r.source.Section
	var entries []Entry
	if r.journal, entries, err = OpenJournal(r.dir.journal()); err != nil {
		return err
	}
	back, err := r.restoreGames(ctx, checkpoint, entries)
	if err != nil {
		return err
	}
	if err := r.openMetrics(); err != nil {
		return err
	}
	r.lastSaved, r.lastStep = -1, r.trainer.NumSteps()
	if checkpoint != nil {
		r.lastSaved = r.state.Episodes
	}
	r.firstStep, r.firstSample = r.trainer.NumSteps(), r.trainer.NumSamples()
	return r.openFeed(back)
}

// newTrainer makes the trainer with the initial weights.
func (r *run) newTrainer() error {
	arch, err := archOf(r.cfg.GetModel().GetArch())
	if err != nil {
		return err
	}
	net := nn.Init(arch, r.cfg.GetSeed())
	if name := r.cfg.GetModel().GetNet(); strings.HasSuffix(name, netSuffix) {
		if net, err = ReadNet(name); err != nil {
			return r.opt.Effective.Errorf("model.net", "name a file written by chessbrain, a kind (b6c64) or filters x blocks (64x6)", "%v", err)
		}
		arch = net.Arch
	}
	cfg, err := trainerConfig(r.cfg, arch)
	if err != nil {
		return &config.Error{Field: "training", Reason: err.Error()}
	}
	if r.trainer, err = trainer.New(net, cfg); err != nil {
		return err
	}
	for _, w := range r.trainer.Warnings() {
		r.log.Warn(w)
	}
	return nil
}

// sections are all parts of a checkpoint. lookup finds the games that a window
// lists; it is needed for loading only.
func (r *run) sections(lookup func([16]byte) *record.Game) []stage.Section {
	return []stage.Section{
		r.state.Section(), r.trainer.Section(), r.cursor(),
		r.games.Train.Section("window", lookup), r.games.Validation.Section("validation", lookup),
	}
}

// restoreGames reads the games on disk once, fills the windows as the checkpoint
// had them, and returns the games that are to enter again or for the first time.
func (r *run) restoreGames(ctx context.Context, checkpoint *trainer.Checkpoint, entries []Entry) (*backlog, error) {
	counted := map[[16]byte]bool{} // before the checkpoint
	if checkpoint != nil {
		r.resumed = true
		if _, err := checkpoint.Restore([]stage.Section{r.state.Section()}); err != nil {
			return nil, err
		}
		if int64(len(entries)) < r.state.Episodes {
			return nil, &trainer.CorruptError{Path: r.dir.journal(),
				Reason: fmt.Sprintf("%d lines, but the checkpoint has seen %d games", len(entries), r.state.Episodes)}
		}
		for _, e := range entries[:r.state.Episodes] {
			id, ok := parseID(e.Game)
			if !ok {
				return nil, &trainer.CorruptError{Path: r.dir.journal(), Reason: "episode without a game id"}
			}
			counted[id] = true
		}
	}
	wanted, err := windowGames(checkpoint)
	if err != nil {
		return nil, err
	}
	found, err := r.readGames(ctx, counted, wanted)
	if err != nil {
		return nil, err
	}
	if checkpoint != nil {
		if err := r.restoreSections(checkpoint, func(id [16]byte) *record.Game { return found.wanted[id] }); err != nil {
			return nil, err
		}
	}
	later := entries[r.state.Episodes:]
	back, kept := newBacklog(later, found.fresh)
	if kept < len(later) {
		r.log.Warn("games of the journal are gone; the order of the rest is new", "lines", len(later), "kept", kept)
		if err := r.journal.Restart(entries[:r.state.Episodes+int64(kept)]); err != nil {
			return nil, err
		}
	}
	r.journal.Repeat(kept)
	r.taken = found.taken
	return back, nil
}

// windowGames returns the ids of the games that the checkpoint's windows hold.
func windowGames(checkpoint *trainer.Checkpoint) (map[[16]byte]bool, error) {
	wanted := map[[16]byte]bool{}
	if checkpoint == nil {
		return wanted, nil
	}
	for _, name := range []string{"window", "validation"} {
		f, err := checkpoint.Open(name + ".section")
		if err != nil {
			return nil, err
		}
		_, ids, err := replay.ReadWindowSection(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", checkpoint.Path, err)
		}
		for _, id := range ids {
			wanted[id] = true
		}
	}
	return wanted, nil
}

// restoreSections loads the checkpoint and explains what does not fit.
func (r *run) restoreSections(checkpoint *trainer.Checkpoint, lookup func([16]byte) *record.Game) error {
	unclaimed, err := checkpoint.Restore(r.sections(lookup))
	if err != nil {
		return fmt.Errorf("restore checkpoint %s: %w", checkpoint.Path, err)
	}
	for _, name := range unclaimed {
		r.log.Warn("the checkpoint holds a section that nobody reads", "section", name)
	}
	return nil
}

// foundGames are the games of this run's source on disk.
type foundGames struct {
	wanted map[[16]byte]*record.Game // those of the windows
	fresh  map[[16]byte]*record.Game // those that are not counted yet
	taken  Ordinals                  // of all
}

// readGames reads the games on disk once and keeps what is needed of them.
func (r *run) readGames(ctx context.Context, counted, wanted map[[16]byte]bool) (*foundGames, error) {
	if err := r.mendGames(ctx); err != nil {
		return nil, err
	}
	found := &foundGames{wanted: map[[16]byte]*record.Game{}, fresh: map[[16]byte]*record.Game{}}
	scan, err := replay.WalkGames(ctx, fsx.OS, r.gamesRoot(), func(path string, g *record.Game) error {
		if r.cfg.GetTraining().GetSource() == config.Training_SELFPLAY && filepath.Base(filepath.Dir(path)) != trainProcess {
			return nil // of another process: not this run's episodes
		}
		found.taken.Add(g.Ordinal)
		if wanted[g.ID] {
			found.wanted[g.ID] = g
		}
		if !counted[g.ID] {
			found.fresh[g.ID] = g
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, bad := range scan.Quarantine {
		r.log.Error("damaged games were left out", "error", bad)
	}
	for _, c := range scan.Chunks {
		if c.Torn && c.Lost > 0 {
			r.log.Warn("a chunk was cut off; its whole games are kept", "chunk", c.Path, "lost_bytes", c.Lost)
		}
	}
	return found, nil
}

// mendGames seals what a killed process left half written. Only the holder of
// the run's exclusive lock may.
func (r *run) mendGames(ctx context.Context) error {
	if r.cfg.GetTraining().GetSource() != config.Training_SELFPLAY {
		return nil
	}
	_, err := replay.SealTorn(ctx, fsx.OS, r.dir.selfplay())
	return err
}

// gamesRoot is where the games of this run's source lie.
func (r *run) gamesRoot() string {
	if dir := r.cfg.GetTraining().GetSourceDir(); dir != "" {
		return dir
	}
	return r.dir.selfplay()
}

// openMetrics opens the metrics files where the checkpoint left them, so that no
// step appears twice, and the event bus over them.
func (r *run) openMetrics() error {
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
	r.log.Debug("metrics files", "dir", r.dir.Metrics, "state", fmt.Sprintf("%+v", info))
	r.bus = monitor.NewBus(monitor.BusOptions{Job: r.info.Job, Seq: r.files.Seq()})
	r.bus.Attach(r.files)
	for _, s := range r.opt.Readers {
		r.bus.Attach(s)
	}
	if r.opt.Progress != nil {
		r.bus.Go(256, r.opt.Progress)
	}
	return nil
}
