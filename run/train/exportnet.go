package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/export"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
)

// publisher takes the nets of a training to where others find them.
type publisher struct {
	*core
	last string // file or directory of the net published last by this process
}

// swaRows is about how many rows measure the batch-norm statistics of the
// averaged weights.
const swaRows = 2048

// averaged returns the averaged net with statistics measured on the training
// window, nil where there is no average yet. The rows depend on the window
// alone, so a run that was stopped in between comes to the same net.
func (p *publisher) averaged(ctx context.Context) (*nn.Net, error) {
	swa := p.trainer.SWA()
	if swa == nil {
		return nil, nil
	}
	sample, rows, err := p.rows.Sample(p.cfg.Batch)
	if sample == nil || err != nil {
		return swa, err
	}
	if err := p.trainer.RefreshSWA(ctx, sample, rows); err != nil {
		return nil, err
	}
	return p.trainer.SWA(), nil
}

// exportPath is where the net of the newest checkpoint is published, without
// suffix.
func (p *publisher) exportPath() string {
	fill := strings.NewReplacer("{job}", p.info.Job, "{training}", p.dir.Training,
		"{samples}", strconv.FormatInt(p.trainer.NumSamples(), 10), "{rows}", strconv.FormatInt(p.state.Rows, 10),
		"{step}", strconv.FormatInt(p.trainer.NumSteps(), 10), "{datetime}", p.savedAt.Format("20060102T150405"))
	return p.dir.NetPath(fill.Replace(p.cfg.Export.Path))
}

// exportOnce exports the net of the newest checkpoint unless that was done: a
// process that was killed between the two leaves it to the next one.
func (p *publisher) exportOnce(ctx context.Context) error {
	list, err := p.readPublished()
	if err != nil {
		return err
	}
	_, net := p.exportNet()
	set := run.PublishedSet{Path: p.dir.Shorten(p.exportPath()), NetID: net.ID(), Exporter: p.cfg.Export.Exporter}
	if done := list.Find(p.dir, set); done != nil {
		p.last = done.Main(p.dir)
		return nil
	}
	published, err := p.export(ctx, &set)
	if err != nil || !published {
		return err
	}
	return p.notePublished(list, set)
}

// exportNet is the net that is published and played with, and which weights it has. The
// average's batch-norm statistics are measured when a checkpoint is written; players get,
// between two of them, averages of these and of the trained net's.
func (c *core) exportNet() (weights string, net *nn.Net) {
	if swa := c.average(); swa != nil {
		return "swa", swa
	}
	return "raw", c.trainer.Net()
}

// average is exportNet's where averaged weights are asked for and there are some, else nil.
func (c *core) average() *nn.Net {
	if !c.cfg.Export.Averaged {
		return nil
	}
	return c.trainer.SWA()
}

// export writes the net through the exporter and publishes the files in their
// directory as one set. An exporter that asks for games where there are none yet is
// not an error: there will be some at the next export.
func (p *publisher) export(ctx context.Context, set *run.PublishedSet) (published bool, err error) {
	weights, net := p.exportNet()
	c, err := StageCheckpoint(net, p.metadata(weights), stage.NetInfo{Name: filepath.Base(p.exportPath()),
		Step: uint64(p.trainer.NumSteps()), Samples: uint64(p.trainer.NumSamples()), Rows: uint64(p.state.Rows)})
	if err != nil {
		return false, err
	}
	// Under a temporary name of this training's, which its next start takes away: after a
	// power cut nobody else would know that the files were published.
	staging, err := fsx.MkdirTemp(fsx.OS, filepath.Join(filepath.Dir(p.dir.TrainingConfig()), "export"))
	if err != nil {
		return false, fmt.Errorf("make a place for the net: %w", err)
	}
	defer func() { err = errors.Join(err, fsx.RemoveForGood(fsx.OS, staging)) }()
	files, noGames, err := p.stages.Export(ctx, c, p.rows.Games(ctx), staging)
	if noGames {
		p.log.Warn("nothing is exported: there are no games yet", "exporter", p.stages.Exporter.Name(), "net", c.Net.Name, "error", err)
		return false, nil
	}
	dst := filepath.Dir(p.exportPath())
	err = errors.Join(err, run.Sweep(map[string]int{dst: 0}, p.log)) // it may lie outside the run
	paths, own := export.Published(dst, files, c.Net)
	if err == nil {
		err = set.Hold(p.dir, files, paths, own)
	}
	if err == nil {
		err = export.Publish(ctx, fsx.OS, dst, files, c.Net)
	}
	if err != nil {
		return false, err
	}
	for _, path := range paths {
		p.tellNet(monitor.NetPublished, c.Net.Name, path)
	}
	return true, nil
}

// StageCheckpoint is what an exporter sees of a net, without games: its tensors,
// which are shared, and what is known about it. The id of info is filled in.
func StageCheckpoint(net *nn.Net, metadata map[string]string, info stage.NetInfo) (*stage.Checkpoint, error) {
	arch, err := json.Marshal(net.Arch)
	if err != nil {
		return nil, fmt.Errorf("encode net description: %w", err)
	}
	info.ID, metadata = net.ID(), maps.Clone(metadata)
	delete(metadata, nn.MetaArch) // stand beside it
	delete(metadata, nn.MetaNetID)
	c := &stage.Checkpoint{Arch: arch, Metadata: metadata, Net: info}
	for _, t := range net.Params {
		c.Tensors = append(c.Tensors, stage.Tensor{Name: t.Name, Shape: t.Shape, Data: t.Data})
	}
	return c, nil
}

// notePublished puts a published set on the list and removes the oldest ones
// that export.keep does not keep.
func (p *publisher) notePublished(list run.Published, set run.PublishedSet) error {
	p.last = set.Main(p.dir)
	list, gone := list.Add(set, p.cfg.Export.Keep)
	// The list is written last: what it still names after a kill is removed once more.
	for i := range gone {
		if err := gone[i].Remove(p.dir, list); err != nil {
			return fmt.Errorf("remove old net: %w", err)
		}
	}
	if err := list.Write(p.dir); err != nil {
		return err
	}
	p.state.Exported = nil
	return nil
}

// readPublished reads the list of what was published, and puts a damaged one aside.
func (p *publisher) readPublished() (run.Published, error) {
	list, there, err := run.ReadPublished(p.dir)
	if aside := p.dir.PublishedFile() + run.DamagedSuffix; err != nil && there {
		p.log.Warn("a damaged file is put aside", "as", aside, "error", err)
		return nil, fsx.OS.Rename(p.dir.PublishedFile(), aside)
	}
	if err == nil && !there {
		for _, file := range p.state.Exported {
			list = append(list, run.PublishedSet{Files: []run.PublishedPart{{Path: p.dir.Shorten(file)}}})
		}
	}
	return list, err
}
