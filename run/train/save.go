package train

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// checkpointRoom is what a checkpoint may need on disk besides its weights.
const checkpointRoom = 16 << 20

// checkpointBytes is what a checkpoint takes for a parameter: the net, the
// trainer's copy, its moments and the average.
const checkpointBytes = 24

// checkpointer writes the state of a training, and knows what the newest checkpoint has.
type checkpointer struct {
	*core
	out   *publisher
	saved func() // follows each checkpoint

	everySteps int64       // between two checkpoints; 0 = they do not follow steps
	episodes   int64       // at the newest checkpoint, -1 = none
	steps      int64       // at the newest checkpoint
	failed     bool        // the newest attempt
	asked      atomic.Bool // for a checkpoint, over the control socket
}

// ifDue saves after a step when somebody asked over the control socket, or
// when the steps since the newest checkpoint ask for it.
func (s *checkpointer) ifDue(ctx context.Context) error {
	asked := s.asked.Swap(false)
	if asked || s.everySteps > 0 && s.trainer.NumSteps()-s.steps >= s.everySteps {
		return s.save(ctx)
	}
	return nil
}

// save writes a checkpoint, removes old ones and exports the net when it is
// time. The games that it counts are durable already.
func (s *checkpointer) save(ctx context.Context) error {
	s.failed = true
	began := time.Now()
	if err := s.process.Err(); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	s.page.Set(func(p *Page) { p.Stage = "checkpoint" })
	defer s.page.Set(func(p *Page) { p.Stage = "training" })
	path, err := s.writeCheckpoint(ctx)
	if err != nil {
		return err
	}
	s.failed = false
	s.episodes, s.steps = s.state.Episodes, s.trainer.NumSteps()
	s.log.Info("checkpoint", "path", path, "step", s.trainer.NumSteps(), "episode", s.state.Episodes,
		"took", time.Since(began).Round(time.Millisecond))
	if _, err := checkpoint.Prune(fsx.OS, s.dir.Checkpoints, s.cfg.Checkpoints.Keep); err != nil {
		return err
	}
	s.saved()
	alone, _ := s.pace.Exports()
	if every := s.cfg.Export.EveryCheckpoints; every > 0 && s.state.Checkpoints%every == 0 && !alone {
		return s.out.tolerate(s.out.exportByMode(ctx))
	}
	return nil
}

// writeCheckpoint writes all of the state under the name of the step.
func (s *checkpointer) writeCheckpoint(ctx context.Context) (path string, err error) {
	name := checkpoint.Name(s.info.Job, s.trainer.NumSteps())
	path = filepath.Join(s.dir.Checkpoints, name)
	net := s.trainer.Net()
	need := fsx.Reserve{Bytes: uint64(net.Len())*checkpointBytes + checkpointRoom}
	if err := need.Check(fsx.OS, s.dir.Checkpoints, 0); err != nil { // less than where producers stop
		return path, err
	}
	swa, err := s.out.averaged(context.WithoutCancel(ctx))
	if err != nil {
		return path, err
	}
	// The event goes into the metrics before their end is noted: the files hold
	// it exactly when the checkpoint does.
	s.tellNet(monitor.NetCheckpoint, s.netName(), path)
	metrics, err := s.process.SyncMetrics()
	if err != nil {
		return path, fmt.Errorf("write metrics: %w", err)
	}
	if s.state.Metrics, err = json.Marshal(metrics); err != nil {
		return path, fmt.Errorf("encode metrics position: %w", err)
	}
	s.state.Checkpoints++
	s.savedAt = time.Now().UTC().Truncate(time.Second)
	files := append(s.netFiles(swa), checkpoint.File{Name: "metrics.json", Write: s.page.writeMetrics})
	info := s.metadata("raw")
	info[run.ManifestKey], info[run.TrainingKey], info[setup.ArchKey] = s.info.ID(), s.cfg.Name, net.Arch.String()
	if len(s.grown.had) > 0 {
		info[setup.GrownKey] = strings.Join(s.grown.had, " ")
	}
	manifest := checkpoint.Manifest{Job: s.info.Job, Step: s.trainer.NumSteps(), Samples: s.trainer.NumSamples(), Rows: s.state.Rows,
		NetID: net.ID(), Created: s.savedAt.Format(time.RFC3339), Info: info}
	run.ExitMu.Lock() // a second interrupt waits for the renames
	defer run.ExitMu.Unlock()
	return path, checkpoint.Save(fsx.OS, s.dir.Checkpoints, name, manifest, s.sections(nil), files...)
}

// unsaved says whether anything was done since the newest checkpoint.
func (s *checkpointer) unsaved() bool {
	return s.state.Episodes != s.episodes || s.trainer.NumSteps() != s.steps
}

// sections are all parts of a checkpoint. lookup finds the games that a window
// lists; it is needed for loading only.
func (s *checkpointer) sections(lookup func([16]byte) *record.Game) []stage.Section {
	all := []stage.Section{
		s.state.Section(), s.trainerSection(), s.rows.Section(),
		s.ledger.section("window", s.ledger.games.Train, lookup), s.ledger.section("validation", s.ledger.games.Validation, lookup),
	}
	if own := s.pace.Section(); own.Name != "" {
		all = append(all, own)
	}
	return all
}

// restorable are the sections that a checkpoint is to give back: one written at
// another pace has none of this one's state.
func (s *checkpointer) restorable(c *checkpoint.Checkpoint, all []stage.Section) []stage.Section {
	name := s.pace.Section().Name
	has := func(f checkpoint.ManifestFile) bool { return f.Section == name }
	if name == "" || slices.ContainsFunc(c.Manifest.Files, has) {
		return all
	}
	s.log.Info("the checkpoint was written by a training of another pace: this one begins its counts anew", "section", name)
	return slices.DeleteFunc(all, func(one stage.Section) bool { return one.Name == name })
}

// restore loads the checkpoint, if there is one, and names what nobody reads.
func (s *checkpointer) restore(ctx context.Context, saved *checkpoint.Checkpoint, lookup func([16]byte) *record.Game) error {
	if saved == nil {
		return nil
	}
	unclaimed, err := saved.Restore(s.restorable(saved, s.sections(lookup)))
	if err != nil {
		return fmt.Errorf("restore checkpoint %s: %w", saved.Path, err)
	}
	if err := s.rows.Restored(ctx); err != nil {
		return fmt.Errorf("restore checkpoint %s: %w", saved.Path, err)
	}
	for _, name := range unclaimed {
		s.log.Warn("the checkpoint holds a section that nobody reads", "section", name)
	}
	return nil
}

// firstCheckpoint saves a fresh run before its first game, so that even a run
// that is killed at once has its initial weights, and publishes them: the net
// that later ones are held against.
func (r *training) firstCheckpoint(ctx context.Context) error {
	if r.saver.episodes < 0 {
		if err := r.saver.save(ctx); err != nil {
			return err
		}
	}
	if r.state.Rows > 0 || r.trainer.NumSamples() > 0 || r.cfg.Export.Mode != setup.ExportDirectly {
		return r.out.exportPending(ctx)
	}
	return r.out.tolerate(r.out.exportOnce(ctx))
}

// finishState measures the last weights, saves what is not saved yet and
// exports the net. Candidates are those of whole epochs alone.
func (r *training) finishState(ctx context.Context) error {
	if r.saver.unsaved() {
		if err := r.reporter.validate(ctx); err != nil {
			return err
		}
		if err := r.saver.save(ctx); err != nil {
			return err
		}
	}
	if alone, last := r.pace.Exports(); alone && !last && r.cfg.Export.Mode != setup.ExportDirectly {
		return nil
	}
	return r.out.tolerate(r.out.exportByMode(ctx))
}
