package cycle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Directories of a run between the stages.
const (
	modelsDir    = "models"
	testedDir    = "modelstobetested"
	rejectedDir  = "rejectedmodels"
	shuffledDir  = "shuffled"
	selfplayDir  = "selfplay"
	toExportDir  = "toexport"
	gateDir      = "gatekeeper"
	matchesDir   = "matches"
	locksDir     = "locks"
	manifestFile = "manifest.json"

	loopRole = string(run.Loop) // lock of who keeps the journal of cycles
)

// measure returns the figures of a stage that has ended and the newest accepted
// net, all from the disk.
func (d *desk) measure(stage Stage) (figures map[string]float64, net string, err error) {
	figures = map[string]float64{}
	switch stage {
	case SelfPlay:
		process, games := d.state.Playing()
		figures[FigureProcess], figures[FigureGames] = float64(process), float64(games)
		net = newestNet(d.root)
	case Shuffle:
		var m *shuffle.Manifest
		if m, err = newestShuffle(d.root); m != nil {
			figures[FigureRows], figures[FigureUsable] = float64(m.RealRows+m.RandomRows), float64(m.Usable)
			figures[FigureWindow], figures[FigureShuffled] = float64(m.Used), float64(m.TrainRows)
		}
	case Train:
		var at training
		at, err = trained(d.root)
		figures[FigureSamples], figures[FigureSteps] = float64(at.Samples), float64(at.Steps)
		if first, ok := d.state.began[Train]; ok {
			figures[FigureFrom], figures[FigureUpTo] = first.Figures[FigureFrom], first.Figures[FigureUpTo]
		}
	case Gatekeeper:
		figures[FigureAccepted] = float64(countNets(filepath.Join(d.root, modelsDir)))
		figures[FigureRejected] = float64(countNets(filepath.Join(d.root, rejectedDir)))
		net = newestNet(d.root)
	case Export:
		figures[FigureWaiting] = float64(countNets(filepath.Join(d.root, testedDir)))
	case Rating:
		err = rated(d.root, figures)
	}
	if len(figures) == 0 {
		figures = nil
	}
	return figures, net, err
}

// newestShuffle returns the newest finished shuffle of the run at root, nil where
// there is none.
func newestShuffle(root string) (*shuffle.Manifest, error) {
	dir := filepath.Join(root, shuffledDir)
	names, err := shuffle.List(fsx.OS, dir)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	m, err := shuffle.ReadManifest(fsx.OS, filepath.Join(dir, names[len(names)-1]))
	if err != nil {
		return nil, fmt.Errorf("read the newest shuffle: %w", err)
	}
	return m, nil
}

// training is how far a net is trained.
type training struct {
	Samples, Steps int64
	Rows           int64 // of self-play that it knew of
}

// trained returns how far the current checkpoint of the run at root is. A run
// without one is not trained.
func trained(root string) (training, error) {
	if _, exists, err := run.ReadRunInfo(root); err != nil || !exists {
		return training{}, err
	}
	dir, _, err := setup.OpenDir(root)
	if err != nil {
		return training{}, err
	}
	name, err := checkpoint.Current(fsx.OS, dir.Checkpoints)
	if err != nil || name == "" {
		return training{}, err
	}
	data, err := fsx.ReadFile(fsx.OS, filepath.Join(dir.Checkpoints, name, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return training{}, nil // the trainer will say what is wrong with it
	}
	if err != nil {
		return training{}, fmt.Errorf("read checkpoint: %w", err)
	}
	m, err := checkpoint.DecodeManifest(data)
	if err != nil {
		return training{}, fmt.Errorf("checkpoint %s: %w", name, err)
	}
	return training{Samples: m.Samples, Steps: m.Step, Rows: m.Rows}, nil
}

// newestNet is the name of the net that plays in the run at root; "random" while
// there is none.
func newestNet(root string) string {
	newest, err := setup.NewestNet(filepath.Join(root, modelsDir))
	if err != nil || newest == nil {
		return randomNet
	}
	return strings.TrimSuffix(filepath.Base(newest.Path), run.NetSuffix)
}

// randomNet is the name of the random weights that play while no net is accepted.
const randomNet = "random"

// netNames returns the names of the net files in dir, without those that are being
// written.
func netNames(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there is none yet
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), run.NetSuffix); ok && !e.IsDir() && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names
}

func countNets(dir string) int { return len(netNames(dir)) }

// epochSamples is the number of samples of an epoch.
func epochSamples(c *config.Config) int64 {
	if n := c.GetTraining().GetSamplesPerEpoch(); n > 0 {
		return n
	}
	return defaultEpoch
}

// cycleEpochs is the most epochs of a cycle: at least one.
func cycleEpochs(c *config.Config) int64 {
	return max(1, c.GetLoop().GetSamplesPerCycle()/epochSamples(c))
}
