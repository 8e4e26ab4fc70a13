package loop

import (
	"fmt"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/stage"
	"github.com/chessbrain/chessbrain/trainer"
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

// SamplerOf returns the sampler that a configuration names.
func SamplerOf(e *config.Effective) (stage.Sampler, error) {
	s, err := stagesOf(e.Config)
	if err != nil {
		return nil, &config.Error{Reason: err.Error()}
	}
	return s.sampler, nil
}

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
func HasAverage(c *trainer.Checkpoint) bool {
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
func AveragedNet(c *trainer.Checkpoint) (*nn.Net, error) {
	if !HasAverage(c) {
		return nil, fmt.Errorf("checkpoint %s has no averaged weights (training.swa.period was 0); take the raw ones", c.Manifest.Name)
	}
	return netOf(c, averageFile)
}

// CheckpointEpisode is the number of games that a checkpoint of a run has seen.
func CheckpointEpisode(c *trainer.Checkpoint) (int64, error) {
	var s State
	_, err := c.Restore([]stage.Section{s.Section()})
	return s.Episodes, err
}
