package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// TrainerConfig returns how a configuration trains a net of the given form. The
// losses are those that the net can have. Errors have exit code 2.
func TrainerConfig(e *config.Effective, arch nn.Arch) (trainer.Config, error) {
	c, err := trainerConfig(e.Config, arch)
	if err != nil {
		return c, &config.Error{Field: "training", Reason: err.Error()}
	}
	return c, nil
}

// InitialNet returns the net that a run of the configuration begins with: that of
// the file in model.net, or seeded weights.
func InitialNet(e *config.Effective) (*nn.Net, error) { return initialNet(e, e.Config.GetSeed()) }

// OpenSampler opens the sampler that a configuration names, and no other stage;
// see OpenStages.
func OpenSampler(ctx context.Context, e *config.Effective, dir string, log *slog.Logger) (*Stages, error) {
	return openStages(ctx, e, uses{sampler: opened}, hostOptions(e.Config.GetPlugins(), dir, log))
}

// Loader is the loader of a configuration with the programs that it uses.
type Loader struct {
	*loader.Loader
	stages *Stages
}

// OpenLoader builds the loader of a configuration; dir is the run directory, or
// "". It must be closed. Faults are config errors (exit code 2).
func OpenLoader(ctx context.Context, e *config.Effective, dir string, log *slog.Logger) (*Loader, error) {
	s, err := openStages(ctx, e, uses{}, hostOptions(e.Config.GetPlugins(), dir, log))
	if err != nil {
		return nil, err
	}
	l, err := setup.New(ctx, e, s.Host())
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Loader{l, s}, nil
}

// Close ends the loader and its programs.
func (l *Loader) Close() error { return errors.Join(l.Loader.Close(), l.stages.Close()) }

// GamesDir is where the games of a run lie: the directory that source DIR names,
// or its own.
func (d Dir) GamesDir(c *config.Config) string {
	if t := c.GetTraining(); t.GetSource() == config.Training_DIR && t.GetSourceDir() != "" {
		return t.GetSourceDir()
	}
	return d.selfplay()
}

// ConfigFile is a run's effective configuration of its latest start.
func (d Dir) ConfigFile() string { return d.configFile() }

// HasAverage says whether a checkpoint holds averaged weights beside the raw ones.
func HasAverage(c *checkpoint.Checkpoint) bool {
	for _, f := range c.Manifest.Files {
		if f.Name == averageFile {
			return true
		}
	}
	return false
}

// averageFile is the averaged net's name inside a checkpoint.
const averageFile = "swa.safetensors"

// AveragedNet reads the averaged weights of a checkpoint, with statistics of
// their own.
func AveragedNet(c *checkpoint.Checkpoint) (*nn.Net, error) {
	if !HasAverage(c) {
		return nil, fmt.Errorf("checkpoint %s has no averaged weights (training.swa.period was 0); take the raw ones", c.Manifest.Name)
	}
	return netOf(c, averageFile)
}

// CheckpointEpisode is the number of games that a checkpoint of a run has seen.
func CheckpointEpisode(c *checkpoint.Checkpoint) (int64, error) {
	var s State
	_, err := c.Restore([]stage.Section{s.Section()})
	return s.Episodes, err
}

// NearestDir returns path or its nearest parent that exists.
func NearestDir(path string) string { return nearestDir(path) }
