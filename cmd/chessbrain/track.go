package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/monitor/track"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// How often the metrics of a run under way go to MLflow and to W&B: soon at first, and less
// often after a fault, which is a run written anew.
const (
	trackSoon  = time.Second
	trackEvery = 10 * time.Second
	trackFault = 10 * time.Minute
)

// newTracker returns what writes the metrics of a run for MLflow and W&B, into
// directories; "" = not.
func newTracker(dir run.Dir, c *config.Config, mlflow, wandb string) *track.Follower {
	settings := config.NotDefault(c)
	delete(settings, "metrics.mlflow") // where the metrics go says nothing of the run
	delete(settings, "metrics.wandb")
	name := filepath.ToSlash(dir.Root)
	if dir.Training != run.FirstTraining {
		name += ", training " + dir.Training
	}
	return track.New(track.Options{
		Metrics: filepath.Join(dir.Learning, monitor.MetricsName), Name: name, Version: version(),
		Settings: settings, MLflow: mlflow, Wandb: wandb, NetSuffix: run.NetSuffix,
		Nets: func() (paths []string, err error) {
			nets, err := run.ListNets(dir, dir.Models())
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			for _, n := range nets {
				line, _, _, _ := run.ParseNetName(n.Name)
				if dir.Training == run.FirstTraining || strings.HasSuffix(line, "-"+dir.Training) {
					paths = append(paths, n.Path)
				}
			}
			return paths, err
		},
	})
}

// trackOnce writes the metrics of a run's trainings as they are now.
func trackOnce(root, mlflow, wandb string) error {
	if isFile(mlflow) || isFile(wandb) {
		return usagef("--mlflow %s --wandb %s: one of them is a file; name directories", mlflow, wandb)
	}
	if mlflow == "" && wandb == "" {
		return nil
	}
	trainings, err := setup.Trainings(root)
	if err != nil {
		return err
	}
	for _, dir := range trainings {
		path := dir.TrainingConfig()
		if !fsx.IsFile(path) {
			path = dir.ConfigFile()
		}
		e, err := config.ResolveRun(path)
		if err == nil {
			err = newTracker(dir, e.Config, mlflow, wandb).Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// track has the metrics of the session's run follow it to MLflow and to W&B, where they
// are asked for. A fault is logged: the run does not need them.
func (s *session) track() error {
	m := s.effective.Config.GetMetrics()
	if m.GetMlflow() == "" && m.GetWandb() == "" {
		return nil
	}
	if !s.trains() {
		s.log.Warn("--mlflow and --wandb have the metrics of a training; this process only plays")
		return nil
	}
	dir, _, err := setup.Layout(s.effective.Config)
	if err != nil {
		return err
	}
	t := newTracker(dir, s.effective.Config, m.GetMlflow(), m.GetWandb())
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		said := ""
		tell := func(err error) {
			if err != nil && err.Error() != said { // once
				said = err.Error()
				s.log.Warn("the metrics for MLflow or Weights & Biases could not be written; look at their directories and the free space. The run goes on", "error", err)
			}
		}
		for wait := trackSoon; ; {
			select {
			case <-time.After(wait):
				err := t.Update()
				if tell(err); err != nil {
					wait = min(4*wait, trackFault)
				} else {
					wait = min(2*wait, trackEvery)
				}
			case <-stop:
				tell(t.Close())
				return
			}
		}
	}()
	s.closers = append(s.closers, func() error {
		close(stop)
		<-stopped
		return nil
	})
	return nil
}
