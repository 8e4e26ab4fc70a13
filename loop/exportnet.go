package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/stage"
)

// swaRows is about how many rows measure the batch-norm statistics of the
// averaged weights.
const swaRows = 2048

// averaged returns the averaged net with statistics measured on the training
// window, nil where there is no average yet. The rows depend on the window
// alone, so a run that was stopped in between comes to the same net.
func (r *run) averaged(ctx context.Context) (*nn.Net, error) {
	swa := r.trainer.SWA()
	rows := int(r.windowRows())
	if r.rows != nil {
		rows = swaRows
	}
	if swa == nil || rows == 0 {
		return swa, nil
	}
	batch := int(r.cfg.GetTraining().GetBatchSize())
	if rows = min(rows, max(swaRows, batch)); rows > batch {
		rows -= rows % batch // whole batches: each counts the same
	}
	sample, err := r.sampleRows(rows)
	if sample == nil || err != nil {
		return swa, err
	}
	if err := r.trainer.RefreshSWA(ctx, sample, rows); err != nil {
		return nil, err
	}
	return r.trainer.SWA(), nil
}

// exportPath is where the net of the newest checkpoint is published, without
// suffix.
func (r *run) exportPath() string {
	fill := strings.NewReplacer("{job}", r.info.Job, "{training}", r.dir.Training,
		"{samples}", strconv.FormatInt(r.trainer.NumSamples(), 10), "{rows}", strconv.FormatInt(r.state.Rows, 10),
		"{step}", strconv.FormatInt(r.trainer.NumSteps(), 10), "{datetime}", r.savedAt.Format("20060102T150405"))
	return r.dir.netPath(fill.Replace(r.cfg.GetExport().GetPath()))
}

// exportOnce exports the net of the newest checkpoint unless that was done: a
// process that was killed between the two leaves it to the next one.
func (r *run) exportOnce(ctx context.Context) error {
	path := r.exportPath() + NetSuffix
	_, net := r.exportNet()
	if there, err := ReadNet(path); err == nil && there.ID() == net.ID() {
		return r.noteExport(path)
	}
	return r.export(ctx)
}

// exportNet is the net that is published, and which weights it has. The
// average's statistics were measured when the checkpoint was written.
func (r *run) exportNet() (weights string, net *nn.Net) {
	if r.cfg.GetExport().GetWeights() == config.Export_SWA {
		if swa := r.trainer.SWA(); swa != nil {
			return "swa", swa
		}
	}
	return "raw", r.trainer.Net()
}

// export writes the net through the exporter and hands it to the publisher.
func (r *run) export(ctx context.Context) error {
	weights, net := r.exportNet()
	arch, err := json.Marshal(net.Arch)
	if err != nil {
		return fmt.Errorf("encode net description: %w", err)
	}
	path := r.exportPath()
	c := &stage.Checkpoint{Arch: arch, Metadata: r.metadata(weights), Net: stage.NetInfo{Name: filepath.Base(path), ID: net.ID(),
		Step: uint64(r.trainer.NumSteps()), Samples: uint64(r.trainer.NumSamples()), Rows: uint64(r.state.Rows)}}
	for _, p := range net.Params {
		c.Tensors = append(c.Tensors, stage.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Data})
	}
	files, err := r.stages.exporter.Export(ctx, c, r.dir.staging())
	if err == nil {
		err = r.stages.publisher(filepath.Dir(path)).Publish(ctx, files, c.Net)
	}
	for _, f := range files { // published durably, or to be written anew: the staging copy goes
		err = errors.Join(err, fsx.OS.Remove(f))
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		published := filepath.Join(filepath.Dir(path), filepath.Base(f))
		r.bus.Publish(&monitor.Net{Action: monitor.NetPublished, NetID: c.Net.Name, Path: published,
			Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Samples: r.trainer.NumSamples()})
		if err := r.noteExport(published); err != nil {
			return err
		}
	}
	return nil
}

// noteExport puts a published file on the list and removes the oldest ones that
// export.keep does not keep.
func (r *run) noteExport(path string) error {
	r.lastExport = path
	if !slices.Contains(r.state.Exported, path) {
		r.state.Exported = append(r.state.Exported, path)
	}
	keep := int(r.cfg.GetExport().GetKeep())
	for keep > 0 && len(r.state.Exported) > keep {
		if err := os.Remove(r.state.Exported[0]); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove old net: %w", err)
		}
		r.state.Exported = r.state.Exported[1:]
	}
	return nil
}
