package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/alarms"
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
	saved, err := r.loadCheckpoint(ctx)
	if err != nil {
		return err
	}
	if err := r.newTrainer(saved); err != nil {
		return err
	}
	r.ledger = newLedger(r.core, r.players.outputs)
	if err := r.openRows(ctx); err != nil {
		return err
	}
	if saved != nil {
		if _, err := saved.Restore([]stage.Section{r.state.Section()}); err != nil {
			return err
		}
	}
	load := func(lookup func([16]byte) *record.Game) error { return r.saver.restore(ctx, saved, lookup) }
	if err := r.ledger.read(ctx, saved, r.state.Episodes, load); err != nil {
		return err
	}
	if r.ledger.games.Train.Rows() == 0 {
		r.state.StepsLeft = 0 // only where the games of the window are lost
	}
	r.saver.episodes, r.saver.steps = -1, r.trainer.NumSteps()
	if saved != nil {
		r.saver.episodes = r.state.Episodes
		if r.savedAt, err = time.Parse(time.RFC3339, saved.Manifest.Created); err != nil {
			return &checkpoint.CorruptError{Path: saved.Path, Reason: err.Error()}
		}
	}
	r.reporter.firstStep, r.reporter.firstSample = r.trainer.NumSteps(), r.trainer.NumSamples()
	return r.openMetrics()
}

// loadCheckpoint opens the newest whole checkpoint, nil where there is none.
func (r *training) loadCheckpoint(ctx context.Context) (*checkpoint.Checkpoint, error) {
	if err := r.alone(ctx, r.removeTemps); err != nil {
		return nil, err
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
	if err := r.cfg.CheckOwner(c.Manifest, r.info, c.Path); err != nil {
		return nil, err
	}
	return c, nil
}

// removeTemps removes what a process that was killed left half written where only this
// training writes, or one that starts.
func (r *training) removeTemps() error {
	for _, dir := range []string{r.dir.Checkpoints, filepath.Dir(r.dir.TrainingConfig()), r.dir.History()} {
		if err := fsx.RemoveTemps(fsx.OS, dir, ""); err != nil {
			return fmt.Errorf("clean up %s: %w", dir, err)
		}
	}
	return nil
}

// newTrainer makes the trainer with weights to begin with.
func (r *training) newTrainer(saved *checkpoint.Checkpoint) error {
	net, err := r.firstWeights(saved)
	if err != nil {
		return err
	}
	cfg, err := r.cfg.Trainer(net.Arch)
	if err != nil {
		return err
	}
	cfg.Window = r.cfg.DeviceRows()
	r.reporter.heads = newHeadRows(cfg.Losses)
	if r.trainer, err = trainer.New(net, cfg); err != nil {
		return err
	}
	for _, w := range r.trainer.Warnings() {
		r.log.Warn(w)
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
	err := r.process.OpenEvents(run.Events{Job: r.info.Job, Metrics: r.dir.Learning, State: state, TensorBoard: r.cfg.Metrics.TensorBoard, TellMoved: true})
	if err != nil {
		return err
	}
	bus := r.process.Bus()
	bus.Go(1024, alarms.New(bus.Publish))
	r.plugins.Open(bus)
	for _, s := range r.opt.Readers {
		bus.Attach(run.Forgiving(r.log, s))
	}
	r.process.Show(r.opt.Progress)
	return nil
}
