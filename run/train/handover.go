package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Files of a directory that a trainer hands over to chessbrain export.
const (
	HandedNet     = setup.NetFile     // the weights as trained
	HandedAverage = setup.AverageFile // the averaged ones, where there is an average
)

// exportByMode exports the net of the newest checkpoint to where
// training.export_mode says, unless that was done.
func (r *training) exportByMode(ctx context.Context) error {
	switch r.cfg.GetTraining().GetExportMode() {
	case config.Training_MAIN:
		return r.handOver(r.dir.ToExport())
	case config.Training_EXTRA:
		return r.handOver(r.dir.ToExportExtra())
	case config.Training_TRAINONLY:
		return nil
	}
	return r.exportOnce(ctx)
}

// exportsDirectly says whether the section export says what is exported.
func (r *training) exportsDirectly() bool {
	return r.cfg.GetTraining().GetExportMode() == config.Training_DIRECT
}

// payExport exports the net of the newest checkpoint if its epoch asked for it.
func (r *training) payExport(ctx context.Context) error {
	if !r.state.ExportOwed {
		return nil
	}
	if err := r.bearable(r.exportByMode(ctx)); err != nil {
		return err
	}
	r.state.ExportOwed = false
	return nil
}

// handOver writes the net of the newest checkpoint as a directory of dir, raw and
// averaged weights, for chessbrain export to take away. What was handed over last
// is noted beside the checkpoints, so that a restart does not do it twice. An
// untrained net is no candidate.
func (r *training) handOver(dir string) error {
	path := filepath.Join(dir, r.netName())
	last, err := r.readHanded()
	if err != nil {
		return err
	}
	now := handed{Version: handedVersion, Path: r.dir.Shorten(path), NetID: r.trainer.Net().ID()}
	if r.trainer.NumSamples() == 0 || last == now {
		return nil
	}
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return fmt.Errorf("hand over net: %w", err)
	}
	if err := r.removeHandedTemps(dir); err != nil {
		return err
	}
	err = fsx.WriteDir(fsx.OS, path, r.writeHanded)
	if errors.Is(err, fs.ErrExist) { // a process was killed before it noted this
		err = nil
	}
	if err != nil {
		return fmt.Errorf("hand over net: %w", err)
	}
	r.lastExport = path
	r.log.Info("net handed over", "path", path, "samples", r.trainer.NumSamples(), "rows", r.state.Rows)
	r.bus.Publish(&monitor.Net{Action: monitor.NetExported, NetID: r.netName(), Path: path,
		Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Samples: r.trainer.NumSamples()})
	return r.noteHanded(now)
}

// writeHanded fills a directory that is handed over.
func (r *training) writeHanded(tmp string) error {
	nets := map[string]*nn.Net{"raw": r.trainer.Net(), "swa": r.trainer.SWA()}
	for _, f := range []struct{ name, weights string }{{HandedNet, "raw"}, {HandedAverage, "swa"}} {
		net := nets[f.weights]
		if net == nil {
			continue
		}
		err := fsx.WriteFileFunc(fsx.OS, filepath.Join(tmp, f.name), func(w io.Writer) error {
			return nn.WriteSafetensors(w, net, r.metadata(f.weights))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// handed is the note of what a training handed over last.
type handed struct {
	Version int    `json:"version"`
	Path    string `json:"path"` // that of Dir.shorten; somebody took it away since, maybe
	NetID   string `json:"net_id"`
}

const handedVersion = 1

// readHanded returns the note, the zero value where there is none.
func (r *training) readHanded() (h handed, err error) {
	path := r.dir.HandedFile()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	if err == nil && h.Version != handedVersion {
		err = fmt.Errorf("version %d, this build reads %d", h.Version, handedVersion)
	}
	if err != nil {
		return h, fmt.Errorf("note of the net handed over last %s: %w; remove it: the newest net may be handed over once more", path, err)
	}
	return h, nil
}

func (r *training) noteHanded(h handed) error {
	data, err := json.MarshalIndent(h, "", "  ")
	if err == nil {
		err = fsx.MkdirAll(fsx.OS, filepath.Dir(r.dir.HandedFile()))
	}
	if err == nil {
		err = fsx.WriteFile(fsx.OS, r.dir.HandedFile(), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("note the net handed over: %w", err)
	}
	return nil
}

// removeHandedTemps removes what this training left half written in dir when it
// was killed. Other trainings of the run may be writing there.
func (r *training) removeHandedTemps(dir string) error {
	own := regexp.MustCompile(`^\.` + regexp.QuoteMeta(r.info.Job+"-"+r.dir.Training) + `-s[0-9]+-d[0-9]+\.[0-9]+-[0-9]+\.`)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	for _, e := range entries {
		if !fsx.IsTemp(e.Name()) || !own.MatchString(e.Name()) {
			continue
		}
		if err := fsx.RemoveAll(fsx.OS, filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
	}
	return nil
}
