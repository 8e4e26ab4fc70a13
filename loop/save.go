package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/stage"
	"github.com/chessbrain/chessbrain/trainer"
)

// checkpointRoom is what a checkpoint may need on disk besides its weights.
const checkpointRoom = 16 << 20

// firstCheckpoint saves a fresh run before its first game, so that even a run
// that is killed at once has its initial weights, and publishes them: the net
// that later ones are held against.
func (r *run) firstCheckpoint() error {
	if r.lastSaved >= 0 {
		return nil
	}
	if err := r.save(context.Background(), nil); err != nil {
		return err
	}
	return r.export(context.Background())
}

// saveIfAsked saves when somebody asked over the control socket.
func (r *run) saveIfAsked(batches *replay.Prefetcher) error {
	select {
	case <-r.wantSave:
		return r.save(context.Background(), batches)
	default:
		return nil
	}
}

// save writes a checkpoint and removes old ones. The games that it counts are
// durable already.
func (r *run) save(ctx context.Context, batches *replay.Prefetcher) error {
	began := time.Now()
	if batches != nil {
		r.cursor = batches.Section
	}
	if err := r.bus.Err(); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	r.page.set(func(p *Page) { p.Stage = "checkpoint" })
	defer r.page.set(func(p *Page) { p.Stage = "training" })
	// The event goes into the metrics before their end is noted: the files hold
	// it exactly when the checkpoint does.
	name := trainer.CheckpointName(r.info.Job, r.trainer.NumSteps())
	path := filepath.Join(r.dir.Checkpoints, name)
	r.bus.Publish(&monitor.Net{Action: monitor.NetCheckpoint, NetID: r.netName(), Path: path,
		Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Samples: r.trainer.NumSamples(),
		Seconds: monitor.Number(time.Since(began).Seconds())})
	metrics, err := r.files.Sync()
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	if r.state.Metrics, err = json.Marshal(metrics); err != nil {
		return fmt.Errorf("encode metrics position: %w", err)
	}
	net := r.trainer.Net()
	if err := fsx.CheckSpace(fsx.OS, r.dir.Checkpoints, uint64(numParams(net))*16+checkpointRoom); err != nil {
		return err
	}
	files := []trainer.File{
		{Name: "net.safetensors", Write: func(w io.Writer) error { return nn.WriteSafetensors(w, net, r.metadata()) }},
		{Name: "metrics.json", Write: r.page.writeMetrics},
	}
	if swa := r.trainer.SWA(); swa != nil {
		files = append(files, trainer.File{Name: "swa.safetensors", Write: func(w io.Writer) error { return nn.WriteSafetensors(w, swa, r.metadata()) }})
	}
	manifest := trainer.Manifest{Job: r.info.Job, Step: r.trainer.NumSteps(), Samples: r.trainer.NumSamples(), Rows: r.state.Rows,
		NetID: net.ID(), Created: time.Now().UTC().Format(time.RFC3339), Info: r.metadata()}
	exitMu.Lock() // a second interrupt waits for the renames
	err = trainer.SaveCheckpoint(fsx.OS, r.dir.Checkpoints, name, manifest, r.sections(nil), files...)
	exitMu.Unlock()
	if err != nil {
		return err
	}
	r.lastSaved, r.lastStep = r.state.Episodes, r.trainer.NumSteps()
	r.checkpoints++
	c := r.cfg.GetTraining().GetCheckpoint()
	keep := trainer.Retention{Last: int(c.GetKeepLast()), Every: int64(c.GetKeepEvery())}
	if _, err := trainer.Prune(fsx.OS, r.dir.Checkpoints, keep); err != nil {
		return err
	}
	if r.store != nil {
		r.store.NewNet(r.netName())
	}
	r.log.Info("checkpoint", "path", path, "step", r.trainer.NumSteps(), "episode", r.state.Episodes,
		"took", time.Since(began).Round(time.Millisecond))
	if every := r.cfg.GetExport().GetEveryCheckpoints(); every > 0 && r.checkpoints%int(every) == 0 {
		return r.export(ctx)
	}
	return nil
}

// finishState measures the last weights, saves what is not saved yet and
// publishes the net.
func (r *run) finishState(ctx context.Context, batches *replay.Prefetcher) error {
	if r.state.Episodes == r.lastSaved && r.trainer.NumSteps() == r.lastStep {
		return nil
	}
	if err := r.validate(ctx); err != nil {
		return err
	}
	if err := r.save(ctx, batches); err != nil {
		return err
	}
	return r.export(ctx)
}

// validate measures the losses on the validation games, raw weights.
func (r *run) validate(ctx context.Context) error {
	if r.games.Validation.Rows() == 0 {
		return nil
	}
	rows := int(r.cfg.GetTraining().GetValidation().GetMaxRows())
	s, err := r.trainer.Evaluate(ctx, replay.NewPass(r.games.Validation, rows), rows)
	if err != nil {
		return fmt.Errorf("validate: %w", err)
	}
	e := &monitor.Validation{
		Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Weights: "raw", Rows: s.Rows, Games: r.games.Validation.Games(),
		Losses: lossNumbers(&s.Measures), StdErrs: monitor.Numbers{},
		PolicyEntropy: monitor.Number(s.PolicyEntropy), TargetEntropy: monitor.Number(s.PolicyTargetEntropy),
		LegalEntropy: monitor.Number(s.LegalEntropy), PolicyAcc: monitor.Number(s.PolicyAccuracy), ValueAcc: monitor.Number(s.ValueAccuracy),
	}
	for _, l := range s.Losses {
		e.StdErrs[l.Metric] = monitor.Number(l.StdErr)
	}
	r.page.set(func(p *Page) { p.Validation = e.Losses })
	r.bus.Publish(e)
	return nil
}

// export writes the net through the exporter and hands it to the publisher.
func (r *run) export(ctx context.Context) error {
	net := r.trainer.Net()
	for _, p := range net.Params {
		for _, v := range p.Data {
			if v-v != 0 {
				return fmt.Errorf("export: parameter %s is not finite; nothing was exported", p.Name)
			}
		}
	}
	arch, err := json.Marshal(net.Arch)
	if err != nil {
		return fmt.Errorf("encode net description: %w", err)
	}
	c := &stage.Checkpoint{Arch: arch, Metadata: r.metadata(), Net: stage.NetInfo{Name: r.netName(), ID: net.ID(),
		Step: uint64(r.trainer.NumSteps()), Samples: uint64(r.trainer.NumSamples()), Rows: uint64(r.state.Rows)}}
	for _, p := range net.Params {
		c.Tensors = append(c.Tensors, stage.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Data})
	}
	staging := filepath.Join(r.dir.Root, "toexport")
	if err := fsx.MkdirAll(fsx.OS, staging); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	files, err := r.stages.exporter.Export(ctx, c, staging)
	if err != nil {
		return err
	}
	if err := r.stages.publisher.Publish(ctx, files, c.Net); err != nil {
		return err
	}
	var errs []error
	for _, f := range files { // published durably: the staging copy goes
		errs = append(errs, fsx.OS.Remove(f))
		r.bus.Publish(&monitor.Net{Action: monitor.NetPublished, NetID: c.Net.Name, Path: filepath.Join(r.dir.models(), filepath.Base(f)),
			Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Samples: r.trainer.NumSamples()})
	}
	return errors.Join(errs...)
}

// metadata goes into net files.
func (r *run) metadata() map[string]string {
	return map[string]string{
		"net": r.netName(), "job": r.info.Job, "step": strconv.FormatInt(r.trainer.NumSteps(), 10),
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
