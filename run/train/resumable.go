package train

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// start is a configuration beside the run that lies in its directory.
type start struct {
	e       *config.Effective
	info    run.RunInfo // of a run that is there, or that begins
	exists  bool
	dir     run.Dir
	before  *config.Config // of the run's latest start; nil = none
	diff    config.Diff    // from before to now
	initial *nn.Net        // what the run begins with, or began with
}

// holdRun holds a configuration against the run in its directory, and changes
// nothing. Its errors have exit code 2. What it lets pass, training does not refuse
// hours later, when games have been played: job, architecture, optimizer and the
// other settings of config.Compare, and the kind of rows.
func holdRun(e *config.Effective) (*start, error) {
	s, err := lookAtRun(e)
	if err != nil {
		return nil, err
	}
	if s.exists {
		if err := s.compare(); err != nil {
			return s, err
		}
	}
	return s, s.checkTraining()
}

// lookAtRun reads the run in the directory of a configuration, or begins one, without
// a comparison.
func lookAtRun(e *config.Effective) (s *start, err error) {
	s = &start{e: e}
	c := e.Config
	if s.info, s.exists, err = run.ReadRunInfo(c.GetRunDir()); err != nil {
		return nil, err
	}
	if !s.exists {
		s.info = run.RunInfo{Version: 1, Job: c.GetJobId(), Seed: c.GetSeed(), Created: time.Now().UTC()}
		if s.info.Job == "" {
			s.info.Job = setup.NewJob(c)
		}
	}
	s.dir = run.NewDir(c.GetRunDir(), c.GetTraining().GetTrainingName(), s.info.Job, c.GetTraining().GetCheckpoint().GetDir(), c.GetMetrics().GetDir())
	s.initial, err = s.initialNet()
	return s, err
}

// compare holds the job, the configuration, and the arithmetic that it means on this
// machine, against those of the run's latest start.
func (s *start) compare() error {
	if job := s.e.Config.GetJobId(); job != "" && job != s.info.Job {
		return s.e.Errorf("job_id", "leave it out, or use another --run-dir", "the run in %s is job %s", s.dir.Root, s.info.Job)
	}
	before, err := config.Load(s.dir.ConfigFile())
	if err != nil {
		return fmt.Errorf("read the run's configuration: %w", err)
	}
	c := s.e.Config
	s.before, s.diff = before.Config, config.Compare(before.Config, c)
	for _, change := range setup.ArithmeticChanges(setup.ArithmeticOf(c, true, playsGames(c)), s.info.Arithmetic) {
		if !c.GetDeterministic() {
			s.diff.Logged = append(s.diff.Logged, change)
			continue
		}
		change.Remedy = setup.SameArithmetic
		s.diff.Refused = append(s.diff.Refused, change)
	}
	return s.diff.Err()
}

// initialNet is the net that the run began with: that of Init, unless the
// configuration names another, else the configured one.
func (s *start) initialNet() (*nn.Net, error) {
	path := filepath.Join(s.dir.Root, initialFile)
	if s.e.Config.GetModel().GetNet() == "" && fileThere(path) {
		return setup.ReadNet(path)
	}
	return setup.InitialNet(s.e, s.info.Seed)
}

// Kinds of rows, by the section of a checkpoint that says how far they are read. A
// training cannot change its kind: nobody knows where in the other rows it stands.
var rowKinds = []struct{ section, words, command string }{
	{"source", "games as they are played", "chessbrain train"},
	{"shuffle_source", "shuffles", "chessbrain run, or chessbrain train --source shuffled"},
	{"loader", "rows of the data loader", "chessbrain train --source loader"},
}

// rowKind is the index in rowKinds of a configuration.
func rowKind(c *config.Config) int {
	switch c.GetTraining().GetSource() {
	case config.Training_SHUFFLED:
		return 1
	case config.Training_LOADER:
		return 2
	}
	return 0
}

// checkTraining refuses to go on with a training of another net or another kind of
// rows, and to begin one in the place of a closed loop's.
func (s *start) checkTraining() error {
	want := rowKind(s.e.Config)
	m, path, err := newestManifest(s.dir.Checkpoints)
	if err != nil {
		return err
	}
	if m == nil {
		loops := want != 1 && fileThere(filepath.Join(s.dir.Root, run.CyclesName))
		if loops && (s.before == nil || s.before.GetTraining().GetTrainingName() == s.dir.Training) {
			return s.otherRows(1, want)
		}
		return nil
	}
	if err := checkOwner(s.e, m, s.info, path); err != nil {
		return err
	}
	held := map[string]bool{}
	for _, f := range m.Files {
		held[f.Section] = true
	}
	for have, kind := range rowKinds {
		if held[kind.section] && !held[rowKinds[want].section] {
			return s.otherRows(have, want)
		}
	}
	arch, err := setup.ReadArch(filepath.Join(path, setup.NetFile))
	if err == nil && arch != s.initial.Arch {
		return s.e.Errorf("model.net", "name the net that it was begun with, or another --run-dir",
			"training %s of %s has a net %s, this start wants %s", s.dir.Training, s.dir.Root, arch.Summary(), s.initial.Arch.Summary())
	}
	return nil // a damaged net is the restart's to tell: it may take an older checkpoint
}

// otherRows is the error of a training that would change its kind of rows.
func (s *start) otherRows(have, want int) error {
	return s.e.Errorf("run_dir", "name another --run-dir, or go on with "+rowKinds[have].command,
		"training %s of this run learns from %s, this start would train it on %s", s.dir.Training, rowKinds[have].words, rowKinds[want].words)
}

// checkOwner refuses a checkpoint that another run wrote into the same directory.
func checkOwner(e *config.Effective, m *checkpoint.Manifest, info run.RunInfo, path string) error {
	if owner := m.Info[runKey]; owner != "" && owner != runIDOf(info) {
		return e.Errorf("training.checkpoint.dir", "give another --job-id or --checkpoint-dir", "checkpoint %s belongs to another run", path)
	}
	return nil
}

// newestManifest reads the manifest of the current checkpoint in dir; nil where there
// is none, or where it is damaged: the restart tells of damage, and takes an older one.
func newestManifest(dir string) (m *checkpoint.Manifest, path string, err error) {
	name, err := checkpoint.Current(fsx.OS, dir)
	if err != nil || name == "" {
		return nil, "", err
	}
	path = filepath.Join(dir, name)
	data, err := fsx.ReadFile(fsx.OS, filepath.Join(path, "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	if err != nil {
		return nil, path, fmt.Errorf("read checkpoint: %w", err)
	}
	if m, err = checkpoint.DecodeManifest(data); err != nil {
		return nil, path, nil
	}
	return m, path, nil
}
