package setup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// OpenSampler opens the sampler that a configuration names, and no other stage;
// see OpenUsed.
func OpenSampler(ctx context.Context, e *config.Effective, dir string, log *slog.Logger) (*Stages, error) {
	return OpenUsed(ctx, e, Uses{stage.KindSampler: Opened}, HostOptions(e.Config.GetPlugins(), dir, log))
}

// Loader is the loader of a configuration with the programs that it uses.
type Loader struct {
	*loader.Loader
	stages *Stages
}

// OpenLoader builds the loader of a configuration; dir is the run directory, or
// "". It must be closed. Faults are config errors (exit code 2).
func OpenLoader(ctx context.Context, e *config.Effective, dir string, log *slog.Logger) (*Loader, error) {
	s, err := OpenUsed(ctx, e, Uses{}, HostOptions(e.Config.GetPlugins(), dir, log))
	if err != nil {
		return nil, err
	}
	l, err := New(ctx, e, s.Host())
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Loader{l, s}, nil
}

// Close ends the loader and its programs.
func (l *Loader) Close() error { return errors.Join(l.Loader.Close(), l.stages.Close()) }

// HasAverage says whether a checkpoint holds averaged weights beside the raw ones.
func HasAverage(c *checkpoint.Checkpoint) bool {
	for _, f := range c.Manifest.Files {
		if f.Name == AverageFile {
			return true
		}
	}
	return false
}

// AverageFile is the averaged net's name inside a checkpoint.
const AverageFile = "swa.safetensors"

// AveragedNet reads the averaged weights of a checkpoint, with statistics of
// their own.
func AveragedNet(c *checkpoint.Checkpoint) (*nn.Net, error) {
	if !HasAverage(c) {
		return nil, fmt.Errorf("checkpoint %s has no averaged weights (training.swa.period was 0); take the raw ones", c.Manifest.Name)
	}
	return netOf(c, AverageFile)
}
