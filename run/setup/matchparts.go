package setup

import (
	"fmt"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run"
)

// Effective is a configuration, for rooms that hand it on: setup alone reads it.
type Effective = config.Effective

// Layout returns where the parts of a configuration's run lie, and its run.json.
// Before a trainer's first start there is none: the job id and seed are then
// those that the configuration will give it.
func Layout(c *config.Config) (run.Dir, run.RunInfo, error) {
	root := c.GetRunDir()
	info, exists, err := run.ReadRunInfo(root)
	if err != nil {
		return run.Dir{}, info, err
	}
	if !exists {
		info = run.RunInfo{Job: c.GetJobId(), Seed: c.GetSeed()}
		if info.Job == "" {
			info.Job = NewJob(c)
		}
	}
	return run.NewDir(root, c.GetTraining().GetTrainingName(), info.Job,
		c.GetTraining().GetCheckpoint().GetDir(), c.GetMetrics().GetDir()), info, nil
}

// NewJob names a new run's job after its name or, without one, its directory.
func NewJob(c *config.Config) string {
	for _, name := range []string{c.GetName(), filepath.Base(c.GetRunDir())} {
		if job := config.JobID(name); job != "" {
			return job
		}
	}
	return "chessbrain"
}

// dirOfRun lays out an existing run as its latest start did.
func dirOfRun(root string, info run.RunInfo) (run.Dir, error) {
	plain := run.Dir{Root: root}
	file, err := config.Load(plain.ConfigFile())
	if err != nil {
		return plain, fmt.Errorf("read the run's configuration: %w", err)
	}
	c := file.Config
	return run.NewDir(root, c.GetTraining().GetTrainingName(), info.Job,
		c.GetTraining().GetCheckpoint().GetDir(), c.GetMetrics().GetDir()), nil
}

// OpenDir lays out the existing run at root.
func OpenDir(root string) (run.Dir, run.RunInfo, error) {
	info, ok, err := run.ReadRunInfo(root)
	if err != nil {
		return run.Dir{}, info, err
	}
	if !ok {
		return run.Dir{}, info, fmt.Errorf("%s is not a run directory (no run.json); name one, or start with chessbrain train", root)
	}
	dir, err := dirOfRun(root, info)
	return dir, info, err
}

// GamesDir is where the games of a run lie: the directory that source DIR names,
// or its own.
func GamesDir(d run.Dir, c *config.Config) string {
	if t := c.GetTraining(); t.GetSource() == config.Training_DIR && t.GetSourceDir() != "" {
		return t.GetSourceDir()
	}
	return d.Selfplay()
}
