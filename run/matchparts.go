package run

import (
	"fmt"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/mcts"
)

// What processes beside the trainer and self-play need of a run's configuration.

// Layout returns where the parts of a configuration's run lie, and its run.json.
// Before a trainer's first start there is none: the job id and seed are then
// those that the configuration will give it.
func Layout(c *config.Config) (Dir, RunInfo, error) {
	root := c.GetRunDir()
	info, exists, err := ReadRunInfo(root)
	if err != nil {
		return Dir{}, info, err
	}
	if !exists {
		info = RunInfo{Job: c.GetJobId(), Seed: c.GetSeed()}
		if info.Job == "" {
			info.Job = newJob(c)
		}
	}
	return NewDir(root, c.GetTraining().GetTrainingName(), info.Job,
		c.GetTraining().GetCheckpoint().GetDir(), c.GetMetrics().GetDir()), info, nil
}

// SearchConfig returns the search of a configuration's section mcts.
func SearchConfig(m *config.MCTS) mcts.Config { return searchConfig(m) }

// newJob names a new run's job after its name or, without one, its directory.
func newJob(c *config.Config) string {
	for _, name := range []string{c.GetName(), filepath.Base(c.GetRunDir())} {
		if job := config.JobID(name); job != "" {
			return job
		}
	}
	return "chessbrain"
}

// dirOfRun lays out an existing run as its latest start did.
func dirOfRun(root string, info RunInfo) (Dir, error) {
	plain := Dir{Root: root}
	file, err := config.Load(plain.configFile())
	if err != nil {
		return plain, fmt.Errorf("read the run's configuration: %w", err)
	}
	c := file.Config
	return NewDir(root, c.GetTraining().GetTrainingName(), info.Job,
		c.GetTraining().GetCheckpoint().GetDir(), c.GetMetrics().GetDir()), nil
}

// OpenDir lays out the existing run at root.
func OpenDir(root string) (Dir, RunInfo, error) {
	info, ok, err := ReadRunInfo(root)
	if err != nil {
		return Dir{}, info, err
	}
	if !ok {
		return Dir{}, info, fmt.Errorf("%s is not a run directory (no run.json); name one, or start with chessbrain train", root)
	}
	dir, err := dirOfRun(root, info)
	return dir, info, err
}

// GamesDir is where the games of a run lie: the directory that source DIR names,
// or its own.
func GamesDir(d Dir, c *config.Config) string {
	if t := c.GetTraining(); t.GetSource() == config.Training_DIR && t.GetSourceDir() != "" {
		return t.GetSourceDir()
	}
	return d.selfplay()
}
