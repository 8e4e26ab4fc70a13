package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/export"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
)

// swaRows is about how many rows measure the batch-norm statistics of the
// averaged weights.
const swaRows = 2048

// averaged returns the averaged net with statistics measured on the training
// window, nil where there is no average yet. The rows depend on the window
// alone, so a run that was stopped in between comes to the same net.
func (r *training) averaged(ctx context.Context) (*nn.Net, error) {
	swa := r.trainer.SWA()
	if swa == nil {
		return nil, nil
	}
	sample, rows, err := r.rows.Sample(int(r.cfg.GetTraining().GetBatchSize()))
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
func (r *training) exportPath() string {
	fill := strings.NewReplacer("{job}", r.info.Job, "{training}", r.dir.Training,
		"{samples}", strconv.FormatInt(r.trainer.NumSamples(), 10), "{rows}", strconv.FormatInt(r.state.Rows, 10),
		"{step}", strconv.FormatInt(r.trainer.NumSteps(), 10), "{datetime}", r.savedAt.Format("20060102T150405"))
	return r.dir.NetPath(fill.Replace(r.cfg.GetExport().GetPath()))
}

// exporterID says what the configuration exports with: the exporter's name and
// settings.
func (r *training) exporterID() string {
	e := r.cfg.GetExport()
	id := e.GetExporter()
	for _, name := range slices.Sorted(maps.Keys(e.GetSettings())) {
		id += fmt.Sprintf(" %s=%q", name, e.GetSettings()[name])
	}
	return id
}

// exportOnce exports the net of the newest checkpoint unless that was done: a
// process that was killed between the two leaves it to the next one.
func (r *training) exportOnce(ctx context.Context) error {
	list, err := r.readPublished()
	if err != nil {
		return err
	}
	_, net := r.exportNet()
	set := run.PublishedSet{Path: r.dir.Shorten(r.exportPath()), NetID: net.ID(), Exporter: r.exporterID()}
	if done := list.Find(r.dir, set); done != nil {
		r.lastExport = done.Main(r.dir)
		return nil
	}
	return r.export(ctx)
}

// exportNet is the net that is published, and which weights it has. The
// average's statistics were measured when the checkpoint was written.
func (r *training) exportNet() (weights string, net *nn.Net) {
	if r.cfg.GetExport().GetWeights() == config.Export_SWA {
		if swa := r.trainer.SWA(); swa != nil {
			return "swa", swa
		}
	}
	return "raw", r.trainer.Net()
}

// export writes the net through the exporter, publishes the files in their
// directory and notes them as one set. An exporter that asks for games where there are
// none yet is not an error: there will be some at the next export.
func (r *training) export(ctx context.Context) error {
	c, err := r.exportCheckpoint()
	if err != nil {
		return err
	}
	files, noGames, err := r.stages.Export(ctx, c, r.rows.Games(ctx), r.dir.Staging())
	if noGames {
		r.log.Warn("nothing is exported: there are no games yet", "exporter", r.stages.Exporter.Name(), "net", c.Net.Name, "error", err)
		return nil
	}
	set := run.PublishedSet{Path: r.dir.Shorten(r.exportPath()), NetID: c.Net.ID, Exporter: r.exporterID()}
	dst := filepath.Dir(r.exportPath())
	paths, own := export.Published(dst, files, c.Net)
	if err == nil {
		err = set.Hold(r.dir, files, paths, own)
	}
	if err == nil {
		err = export.NewDirectory(fsx.OS, dst).Publish(ctx, files, c.Net)
	}
	for _, f := range files { // published durably, or to be written anew: the staging copy goes
		err = errors.Join(err, fsx.OS.Remove(f))
	}
	if err != nil {
		return err
	}
	for _, path := range paths {
		r.bus.Publish(&monitor.Net{Action: monitor.NetPublished, NetID: c.Net.Name, Path: path,
			Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Samples: r.trainer.NumSamples()})
	}
	return r.notePublished(set)
}

// exportCheckpoint is what the exporter sees of the newest checkpoint, without
// games.
func (r *training) exportCheckpoint() (*stage.Checkpoint, error) {
	weights, net := r.exportNet()
	return StageCheckpoint(net, r.metadata(weights), stage.NetInfo{Name: filepath.Base(r.exportPath()),
		Step: uint64(r.trainer.NumSteps()), Samples: uint64(r.trainer.NumSamples()), Rows: uint64(r.state.Rows)})
}

// StageCheckpoint is what an exporter sees of a net, without games: its tensors,
// which are shared, and what is known about it. The id of info is filled in.
func StageCheckpoint(net *nn.Net, metadata map[string]string, info stage.NetInfo) (*stage.Checkpoint, error) {
	arch, err := json.Marshal(net.Arch)
	if err != nil {
		return nil, fmt.Errorf("encode net description: %w", err)
	}
	info.ID = net.ID()
	c := &stage.Checkpoint{Arch: arch, Metadata: metadata, Net: info}
	for _, p := range net.Params {
		c.Tensors = append(c.Tensors, stage.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Data})
	}
	return c, nil
}

// notePublished puts a published set on the list and removes the oldest ones
// that export.keep does not keep.
func (r *training) notePublished(set run.PublishedSet) error {
	r.lastExport = set.Main(r.dir)
	list, err := r.readPublished()
	if err != nil {
		return err
	}
	list, gone := list.Add(set, int(r.cfg.GetExport().GetKeep()))
	// The list is written last: what it still names after a kill is removed once more.
	for i := range gone {
		if err := gone[i].Remove(r.dir, list); err != nil {
			return fmt.Errorf("remove old net: %w", err)
		}
	}
	if err := list.Write(r.dir); err != nil {
		return err
	}
	r.state.Exported = nil
	return nil
}

// ReadPublished reads the list of what was published.
func (r *training) readPublished() (run.Published, error) {
	_, err := fsx.RemoveTemps(fsx.OS, filepath.Dir(r.dir.PublishedFile())) // of a process that was killed
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("clean up: %w", err)
	}
	list, there, err := run.ReadPublished(r.dir)
	if err == nil && !there {
		for _, file := range r.state.Exported {
			list = append(list, run.PublishedSet{Files: []run.PublishedPart{{Path: r.dir.Shorten(file)}}})
		}
	}
	return list, err
}
