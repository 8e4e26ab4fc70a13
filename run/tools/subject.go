package tools

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Subject is a net and how it is trained.
type Subject struct {
	Name       string // of the checkpoint or file
	Weights    string // monitor.WeightsRaw or monitor.WeightsSWA
	Net        *nn.Net
	Effective  *config.Effective
	Checkpoint *checkpoint.Checkpoint // nil where the net is from elsewhere
	Run        string                 // the run directory, "" where there is none
}

// SubjectOptions choose among what a checkpoint offers.
type SubjectOptions struct {
	Config  string // configuration file; "" = that of the run, or the defaults
	Average bool   // the averaged weights instead of the raw ones
}

// OpenRun opens what path means to setup.FindCheckpoint: the newest checkpoint of a
// run, RUN@STEP, a directory of checkpoints, or one checkpoint. Without a
// configuration of its own it has that of the run in which it lies.
func OpenRun(path string, opt SubjectOptions) (*Subject, error) {
	c, err := setup.FindCheckpoint(path)
	if err != nil {
		return nil, err
	}
	s := &Subject{Name: c.Manifest.Name, Checkpoint: c}
	if s.Run, err = runOf(path, c.Path); err != nil {
		return nil, err
	}
	if opt.Config == "" && s.Run != "" {
		s.Effective, err = config.ResolveRun(run.Dir{Root: s.Run}.ConfigFile())
	} else {
		s.Effective, err = config.Resolve(config.Input{Path: opt.Config})
	}
	if err != nil {
		return nil, err
	}
	if !opt.Average {
		return s, s.take(monitor.WeightsRaw)
	}
	if err = s.take(monitor.WeightsSWA); err != nil && !setup.HasAverage(c) {
		return nil, inputError{err}
	}
	return s, err
}

// take reads the raw or the averaged weights of the checkpoint.
func (s *Subject) take(weights string) (err error) {
	s.Weights = weights
	if weights == monitor.WeightsSWA {
		s.Net, err = setup.AveragedNet(s.Checkpoint)
	} else {
		s.Net, err = setup.CheckpointNet(s.Checkpoint)
	}
	return err
}

// runOf returns the run directory that was named, or in which the checkpoint
// lies, "" if in none.
func runOf(named, checkpoint string) (string, error) {
	if at := strings.LastIndexByte(named, '@'); at > 0 {
		named = named[:at]
	}
	dir, err := filepath.Abs(checkpoint)
	if err != nil {
		return "", err
	}
	for range 4 { // RUN/train/TRAININGNAME/checkpoints/NAME
		dir = filepath.Dir(dir)
	}
	for _, root := range []string{named, dir} {
		if fsx.IsFile(run.Dir{Root: root}.RunFile()) {
			return root, nil
		}
	}
	return "", nil
}

// NewSubject is a subject of a net that is no checkpoint.
func NewSubject(name string, net *nn.Net, e *config.Effective) *Subject {
	return &Subject{Name: name, Weights: monitor.WeightsRaw, Net: net, Effective: e}
}

// train lets do use a trainer of the subject's net, which adjust may configure otherwise.
func (s *Subject) train(adjust func(*trainer.Config), do func(*trainer.Trainer, *trainer.Config) error) error {
	c, err := setup.TrainerConfig(s.Effective.Config, s.Net.Arch)
	if err != nil {
		return err
	}
	adjust(&c)
	t, err := trainer.New(s.Net, c)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return errors.Join(do(t, &c), t.Close())
}

// inputError is a fault of what a tool was asked to read or to do.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// ExitCode is that of a usage error.
func (inputError) ExitCode() int { return 2 }
