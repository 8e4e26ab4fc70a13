package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

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

// NewestNet returns the net file in dir that chessbrain selfplay --models-dir dir
// plays with, its net's name and when it was written; an empty path where there
// is none yet.
func NewestNet(dir string) (path, name string, written time.Time, err error) {
	path, written, err = NewestModel(dir)
	if err != nil || path == "" {
		return "", "", time.Time{}, err
	}
	return path, (&modelFiles{dir: dir}).nameOf(path), written, nil
}

// PublishedFiles returns the files that the trainings of the run at root have
// published themselves and keep (export.keep).
func PublishedFiles(root string) (files []string, err error) {
	trainings, err := os.ReadDir(filepath.Join(root, "train"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list trainings: %w", err)
	}
	for _, t := range trainings {
		if !t.IsDir() {
			continue
		}
		dir := Dir{Root: root, Training: t.Name()}
		list, _, err := readPublished(dir)
		if err != nil {
			return nil, err
		}
		for _, set := range list {
			for _, f := range set.Files {
				files = append(files, dir.netPath(f.Path))
			}
		}
	}
	return files, nil
}
