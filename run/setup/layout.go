package setup

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
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
		info = run.RunInfo{Job: cmp.Or(c.GetJobId(), NewJob(c)), Seed: c.GetSeed()}
	}
	return dirOf(c, root, info.Job), info, nil
}

// dirOf lays out a configuration's run.
func dirOf(c *config.Config, root, job string) run.Dir {
	t := c.GetTraining()
	d := run.NewDir(root, t.GetTrainingName(), job, t.GetCheckpoint().GetDir(), c.GetMetrics().GetDir())
	if d.Learning != d.Metrics && !fsx.IsFile(filepath.Join(d.Learning, monitor.MetricsName)) && fsx.IsFile(d.PublishedFile()) {
		d.Learning = d.Metrics // it was begun by a program that had one place for all trainings
	}
	if !fsx.IsFile(d.Journal()) && fsx.IsFile(filepath.Join(d.Checkpoints, "current")) {
		d.Order = "" // likewise
	}
	return d
}

// NewJob names a new run's job after its name or, without one, its directory.
func NewJob(c *config.Config) string {
	dir, _ := filepath.Abs(c.GetRunDir()) // on an error "", whose base is .
	for _, name := range []string{c.GetName(), filepath.Base(dir)} {
		if job := config.JobID(name); job != "" {
			return job
		}
	}
	return "chessbrain"
}

// runAt lays out the run at root as its latest start did; ok is false where there is none.
func runAt(root string) (dir run.Dir, info run.RunInfo, ok bool, err error) {
	if info, ok, err = run.ReadRunInfo(root); err != nil || !ok {
		return run.Dir{}, info, false, err
	}
	file, err := config.LoadKept(run.Dir{Root: root}.ConfigFile())
	if err != nil {
		return run.Dir{Root: root}, info, true, fmt.Errorf("read the run's configuration: %w", err)
	}
	return dirOf(file.Config, root, info.Job), info, true, nil
}

// OfRun returns what the run in e's directory keeps of its latest start for the next one;
// nil = no run is there.
func OfRun(e *config.Effective) (*config.File, error) {
	d := run.Dir{Root: e.Config.GetRunDir(), Training: e.Config.GetTraining().GetTrainingName()}
	path := d.ConfigFile()
	if e.Origin("training.training_name") != "default" && fsx.IsFile(d.TrainingConfig()) {
		path = d.TrainingConfig()
	}
	if !fsx.IsFile(path) {
		return nil, nil
	}
	file, err := config.LoadRun(path)
	if err == nil && e.Origin("training.training_name") != "default" && file.Config.GetTraining().GetTrainingName() != d.Training {
		file.Leave("loop.grow") // of another training, whose net this one need not have
	}
	return file, err
}

// OfLoop is OfRun for a closed loop: without what each cycle settles itself.
func OfLoop(e *config.Effective) (*config.File, error) {
	file, err := OfRun(e)
	if file == nil {
		return nil, err
	}
	if file.Config.GetTraining().GetSource() != config.Training_SHUFFLED { // no loop's: it has set none of these
		file.Leave("training.bucket.per_new_row", "training.epochs_per_export")
	}
	file.Leave("training.source", "training.export_mode", "training.quit_if_no_data", "training.bucket.stop_when_limited")
	return file, nil
}

// OfTraining is OfRun for a plain training, which has no place in a closed loop's.
func OfTraining(e *config.Effective) (*config.File, error) {
	file, err := OfRun(e)
	loops := fsx.IsFile(filepath.Join(e.Config.GetRunDir(), run.CyclesName))
	if file == nil || !loops || e.Origin("training.source") != "default" {
		return file, err
	}
	if name := e.Config.GetTraining().GetTrainingName(); name == file.Config.GetTraining().GetTrainingName() {
		return nil, otherRows(e, e.Config.GetRunDir(), name, shuffledRows, playedRows)
	}
	return file, nil
}

// OpenDir lays out the existing run at root.
func OpenDir(root string) (run.Dir, run.RunInfo, error) {
	dir, info, ok, err := runAt(root)
	if err == nil && !ok {
		err = NoRun(root)
	}
	return dir, info, err
}

// Trainings lays out the run at root for each of its trainings: that of the run's
// configuration, then the others by name.
func Trainings(root string) ([]run.Dir, error) {
	own, info, err := OpenDir(root)
	if err != nil {
		return nil, err
	}
	names, err := fsx.Dirs(fsx.OS, own.Trainings())
	if err != nil {
		return nil, err
	}
	all := []run.Dir{own}
	for _, name := range names {
		if name == own.Training {
			continue
		}
		other := run.NewDir(root, name, info.Job, "", "")
		if path := other.TrainingConfig(); fsx.IsFile(path) { // older programs wrote none
			file, err := config.LoadKept(path)
			if err != nil {
				return all, fmt.Errorf("read the configuration of training %s: %w", name, err)
			}
			other = dirOf(file.Config, root, info.Job)
		}
		all = append(all, other)
	}
	return all, nil
}

// NoRun is the error of a directory that is no run's.
func NoRun(root string) error {
	return fmt.Errorf("%s is not a run directory (no run.json); name one, or start with chessbrain train", root)
}

// GamesDir is where the games of a run lie: the directory that source DIR names,
// or its own.
func GamesDir(d run.Dir, c *config.Config) string {
	if t := c.GetTraining(); t.GetSource() == config.Training_DIR && t.GetSourceDir() != "" {
		return t.GetSourceDir()
	}
	return d.Selfplay()
}
