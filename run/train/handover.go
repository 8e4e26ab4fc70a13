package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// exportByMode exports the net of the newest checkpoint to where
// training.export_mode says, unless that was done.
func (p *publisher) exportByMode(ctx context.Context) error {
	switch p.cfg.Export.Mode {
	case setup.HandOver:
		return p.handOver(p.dir.ToExport())
	case setup.HandOverExtra:
		return p.handOver(p.dir.ToExportExtra())
	case setup.ExportNever:
		return nil
	}
	return p.exportOnce(ctx)
}

// exportPending exports the net of the newest checkpoint if its epoch asked for it.
func (p *publisher) exportPending(ctx context.Context) error {
	if !p.state.ExportOwed {
		return nil
	}
	if err := p.tolerate(p.exportByMode(ctx)); err != nil {
		return err
	}
	p.state.ExportOwed = false
	return nil
}

// handOver writes the net of the newest checkpoint as a directory of dir, with the files
// setup.NetFile and, where there is an average, setup.AverageFile, for chessbrain export
// to take away. What was handed over last is noted beside the checkpoints, so that a
// restart does not do it twice. An untrained net is no candidate.
func (p *publisher) handOver(dir string) error {
	path := filepath.Join(dir, p.netName())
	last := p.readHanded()
	now := handed{Version: handedVersion, Path: p.dir.Shorten(path), NetID: p.trainer.View().ID()}
	if p.trainer.NumSamples() == 0 || last == now || p.grown.now && last.Path == now.Path { // grown, not trained
		return nil
	}
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return fmt.Errorf("hand over net: %w", err)
	}
	err := fsx.WriteDir(fsx.OS, path, func(tmp string) error {
		for _, f := range p.netFiles(p.trainer.SWA()) {
			if err := fsx.WriteFileFunc(fsx.OS, filepath.Join(tmp, f.Name), f.Write); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrExist) { // a process was killed before it noted this
		err = nil
	}
	if err != nil {
		return fmt.Errorf("hand over net: %w", err)
	}
	p.last = path
	p.log.Info("net handed over", "path", path, "samples", p.trainer.NumSamples(), "rows", p.state.Rows)
	p.tellNet(monitor.NetExported, p.netName(), path)
	return run.WriteJSON(p.dir.HandedFile(), now)
}

// handed is the note of what a training handed over last.
type handed struct {
	Version int    `json:"version"`
	Path    string `json:"path"` // that of Dir.shorten; somebody took it away since, maybe
	NetID   string `json:"net_id"`
}

const handedVersion = 1

// readHanded returns the note, the zero value where there is none, or where it cannot be
// read: to hand a net over once more does no harm.
func (p *publisher) readHanded() (h handed) {
	path := p.dir.HandedFile()
	there, err := run.ReadJSON(path, &h)
	if there && err == nil && h.Version != handedVersion {
		err = fmt.Errorf("version %d, this build reads %d", h.Version, handedVersion)
	}
	if err != nil {
		p.log.Warn("the note of the net handed over last cannot be read; the newest net may be handed over once more", "path", path, "error", err)
		return handed{}
	}
	return h
}

// tolerate returns the error of an export, nil where the run is to go on without
// an exporter that fails.
func (p *publisher) tolerate(err error) error {
	failed, ok := errors.AsType[*host.Error](err)
	if !ok || failed.Kind != stage.KindExporter || !p.cfg.Export.MayFail {
		return err
	}
	p.log.Error("the net is not exported; the run goes on", "error", err)
	p.alarm("plugin", err.Error(), "mend or replace the plugin; chessbrain plugins swap puts another exporter in its place")
	return nil
}
