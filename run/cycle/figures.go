package cycle

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// measure returns the figures of a stage that has ended and the newest accepted
// net, all from the disk.
func (l *loop) measure(stage Stage) (figures map[string]float64, net string, err error) {
	figures = map[string]float64{}
	switch stage {
	case SelfPlay:
		figures[FigureProcess], figures[FigureGames] = float64(l.state.process), float64(l.state.target)
		net = newestNet(l.dir)
	case Shuffle:
		var m *shuffle.Manifest
		if m, _, err = prepare.ReadShuffle(l.dir.Shuffled()); m != nil {
			figures[FigureRows], figures[FigureUsable] = float64(m.RealRows+m.RandomRows), float64(m.Usable)
			figures[FigureWindow], figures[FigureShuffled] = float64(m.Used), float64(m.TrainRows)
		}
	case Train:
		var at checkpoint.Manifest
		at, _, err = trained(l.dir)
		figures[FigureSamples], figures[FigureSteps] = float64(at.Samples), float64(at.Step)
		if first, ok := l.state.began[Train]; ok {
			figures[FigureFrom], figures[FigureUpTo] = first.Figures[FigureFrom], first.Figures[FigureUpTo]
		}
	case Gatekeeper:
		figures[FigureAccepted] = float64(countNets(l.dir.Models()))
		figures[FigureRejected] = float64(countNets(l.dir.Rejected()))
		net = newestNet(l.dir)
	case Export:
		figures[FigureWaiting] = float64(countNets(l.dir.Candidates()))
	case Rating:
		var c *catalogue.Catalogue
		if c, err = readCatalogue(l.dir); c == nil {
			break
		}
		figures[FigureNets] = float64(len(c.Ratings))
		if r, ok := c.Rating(newestNet(l.dir)); ok {
			figures[FigureElo], figures[FigureEloError] = r.Elo, r.Error
		}
	}
	return figures, net, err
}

// trained returns how far the current checkpoint of a training is, or the one before it
// that a trainer takes where that is damaged, and where it lies. A training without one has
// not begun.
func trained(dir run.Dir) (none checkpoint.Manifest, path string, err error) {
	name, err := checkpoint.Current(fsx.OS, dir.Checkpoints)
	if err != nil || name == "" {
		return none, "", err
	}
	path = filepath.Join(dir.Checkpoints, name)
	data, err := fsx.ReadFile(fsx.OS, filepath.Join(path, "manifest.json"))
	if err != nil { // of one that is not there the trainer will say what is wrong with it
		return none, "", gone(fmt.Errorf("read checkpoint: %w", err))
	}
	m, err := checkpoint.DecodeManifest(data)
	if err != nil {
		whole, loadErr := checkpoint.Load(fsx.OS, dir.Checkpoints)
		if loadErr != nil {
			return none, "", fmt.Errorf("checkpoint %s: %w", name, err)
		}
		m, path = whole.Manifest, whole.Path
	}
	return *m, path, nil
}

// newestNet is the name of the net that plays in a run: of random weights while there
// is none.
func newestNet(dir run.Dir) string {
	newest, err := setup.NewestNet(dir, dir.Models())
	if err != nil || newest == nil {
		return gate.RandomNet
	}
	return newest.Name
}

// countNets returns how many net files a directory has, 0 where it is not there.
func countNets(dir string) int {
	nets, _ := run.ListNets(run.Dir{}, dir)
	return len(nets)
}

// readCatalogue returns the index of a run, nil where there is none.
func readCatalogue(dir run.Dir) (*catalogue.Catalogue, error) {
	c, err := catalogue.Read(fsx.OS, dir.Catalogue())
	return c, gone(err)
}

// gone drops the error of what is not there any more.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
