package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// checkpointRoom is what a checkpoint may need on disk besides its weights.
const checkpointRoom = 16 << 20

// checkpointBytes is what a checkpoint takes for a parameter: the net, the
// trainer's copy, its moments and the average.
const checkpointBytes = 24

// firstCheckpoint saves a fresh run before its first game, so that even a run
// that is killed at once has its initial weights, and publishes them: the net
// that later ones are held against.
func (r *training) firstCheckpoint(ctx context.Context) error {
	if r.lastSaved < 0 {
		if err := r.save(ctx); err != nil {
			return err
		}
	}
	if r.state.Rows > 0 || r.trainer.NumSamples() > 0 || !r.exportsDirectly() {
		return r.payExport(ctx)
	}
	return r.bearable(r.exportOnce(ctx))
}

// bearable returns the error of an export, nil where the run is to go on without
// an exporter that fails.
func (r *training) bearable(err error) error {
	failed, ok := errors.AsType[*host.Error](err)
	if !ok || failed.Kind != stage.KindExporter || r.cfg.GetPlugins().GetOnFailure() != config.Plugins_CONTINUE {
		return err
	}
	r.log.Error("the net is not exported; the run goes on", "error", err)
	r.alarm("plugin", err.Error(), "mend or replace the plugin; chessbrain plugins swap puts another exporter in its place")
	return nil
}

// saveIfDue saves after a step when somebody asked over the control socket, or
// when the steps since the newest checkpoint ask for it.
func (r *training) saveIfDue(ctx context.Context) error {
	due := r.everySteps > 0 && r.trainer.NumSteps()-r.lastStep >= r.everySteps
	select {
	case <-r.wantSave:
		due = true
	default:
	}
	if !due {
		return nil
	}
	return r.save(ctx)
}

// save writes a checkpoint, removes old ones and exports the net when it is
// time. The games that it counts are durable already.
func (r *training) save(ctx context.Context) error {
	r.saveFailed = true
	began := time.Now()
	if err := errors.Join(r.lockLost(), r.bus.Err()); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	r.page.set(func(p *Page) { p.Stage = "checkpoint" })
	defer r.page.set(func(p *Page) { p.Stage = "training" })
	path, err := r.writeCheckpoint(ctx)
	if err != nil {
		return err
	}
	r.saveFailed = false
	r.lastSaved, r.lastStep = r.state.Episodes, r.trainer.NumSteps()
	r.log.Info("checkpoint", "path", path, "step", r.trainer.NumSteps(), "episode", r.state.Episodes,
		"took", time.Since(began).Round(time.Millisecond))
	c := r.cfg.GetTraining().GetCheckpoint()
	keep := checkpoint.Retention{Last: int(c.GetKeepLast()), Every: int64(c.GetKeepEvery())}
	if _, err := checkpoint.Prune(fsx.OS, r.dir.Checkpoints, keep); err != nil {
		return err
	}
	if r.store != nil {
		r.store.NewNet(r.netName())
	}
	alone, _ := r.pace.Exports()
	if every := int64(r.cfg.GetExport().GetEveryCheckpoints()); every > 0 && r.state.Checkpoints%every == 0 && !alone {
		return r.bearable(r.exportByMode(ctx))
	}
	return nil
}

// writeCheckpoint writes all of the state under the name of the step.
func (r *training) writeCheckpoint(ctx context.Context) (path string, err error) {
	name := checkpoint.Name(r.info.Job, r.trainer.NumSteps())
	path = filepath.Join(r.dir.Checkpoints, name)
	net := r.trainer.Net()
	need := fsx.Reserve{Bytes: uint64(numParams(net))*checkpointBytes + checkpointRoom}
	if err := need.Check(fsx.OS, r.dir.Checkpoints, 0); err != nil { // less than where producers stop
		return path, err
	}
	swa, err := r.averaged(context.WithoutCancel(ctx))
	if err != nil {
		return path, err
	}
	// The event goes into the metrics before their end is noted: the files hold
	// it exactly when the checkpoint does.
	r.bus.Publish(&monitor.Net{Action: monitor.NetCheckpoint, NetID: r.netName(), Path: path,
		Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Samples: r.trainer.NumSamples()})
	metrics, err := r.files.Sync()
	if err != nil {
		return path, fmt.Errorf("write metrics: %w", err)
	}
	if r.state.Metrics, err = json.Marshal(metrics); err != nil {
		return path, fmt.Errorf("encode metrics position: %w", err)
	}
	r.state.Checkpoints++
	r.savedAt = time.Now().UTC().Truncate(time.Second)
	files := []checkpoint.File{
		{Name: setup.NetFile, Write: func(w io.Writer) error { return nn.WriteSafetensors(w, net, r.metadata("raw")) }},
		{Name: "metrics.json", Write: r.page.writeMetrics},
	}
	if swa != nil {
		files = append(files, checkpoint.File{Name: "swa.safetensors", Write: func(w io.Writer) error { return nn.WriteSafetensors(w, swa, r.metadata("swa")) }})
	}
	info := r.metadata("raw")
	info[runKey] = runIDOf(r.info)
	manifest := checkpoint.Manifest{Job: r.info.Job, Step: r.trainer.NumSteps(), Samples: r.trainer.NumSamples(), Rows: r.state.Rows,
		NetID: net.ID(), Created: r.savedAt.Format(time.RFC3339), Info: info}
	run.ExitMu.Lock() // a second interrupt waits for the renames
	defer run.ExitMu.Unlock()
	return path, checkpoint.Save(fsx.OS, r.dir.Checkpoints, name, manifest, r.sections(nil), files...)
}

// unsaved says whether anything was done since the newest checkpoint.
func (r *training) unsaved() bool {
	return r.state.Episodes != r.lastSaved || r.trainer.NumSteps() != r.lastStep
}

// finishState measures the last weights, saves what is not saved yet and
// exports the net. Candidates are those of whole epochs alone.
func (r *training) finishState(ctx context.Context) error {
	if r.unsaved() {
		if err := r.validate(ctx); err != nil {
			return err
		}
		if err := r.save(ctx); err != nil {
			return err
		}
	}
	if alone, last := r.pace.Exports(); alone && !last && !r.exportsDirectly() {
		return nil
	}
	return r.bearable(r.exportByMode(ctx))
}

// validate measures the losses on the validation games, raw weights.
func (r *training) validate(ctx context.Context) error {
	rows := int(r.cfg.GetTraining().GetValidation().GetMaxRows())
	held, err := r.rows.HeldOut(ctx, rows)
	if held == nil || err != nil {
		return err
	}
	s, err := r.trainer.Evaluate(ctx, held, rows)
	if err != nil {
		return fmt.Errorf("validate: %w", err)
	}
	e := r.validationEvent(monitor.WeightsRaw, &s)
	r.page.set(func(p *Page) { p.Validation = e.Losses })
	r.bus.Publish(e)
	return nil
}

// validationEvent reports losses on the validation games.
func (r *training) validationEvent(weights string, s *trainer.EvalStats) *monitor.Validation {
	e := &monitor.Validation{
		Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Weights: weights, Rows: s.Rows, Games: r.games.Validation.Games(),
		Losses: lossNumbers(&s.Measures), StdErrs: monitor.Numbers{},
		PolicyEntropy: monitor.Number(s.PolicyEntropy), TargetEntropy: monitor.Number(s.PolicyTargetEntropy),
		LegalEntropy: monitor.Number(s.LegalEntropy), PolicyAcc: monitor.Number(s.PolicyAccuracy), ValueAcc: monitor.Number(s.ValueAccuracy),
	}
	for _, l := range s.Losses {
		e.StdErrs[l.Metric] = monitor.Number(l.StdErr)
	}
	return e
}

// metadata goes into net files.
func (r *training) metadata(weights string) map[string]string {
	return map[string]string{
		"net": r.netName(), "weights": weights, "job": r.info.Job, "step": strconv.FormatInt(r.trainer.NumSteps(), 10),
		"samples": strconv.FormatInt(r.trainer.NumSamples(), 10), "rows": strconv.FormatInt(r.state.Rows, 10),
		"program": "chessbrain " + r.opt.Version,
	}
}

func numParams(n *nn.Net) int {
	total := 0
	for _, p := range n.Params {
		total += len(p.Data)
	}
	return total
}
