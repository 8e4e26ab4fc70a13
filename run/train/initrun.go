package train

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Beginning is what Init puts into a new run. The zero value is what Train would
// begin with.
type Beginning struct {
	Net      *nn.Net               // nil = the configured one
	From     string                // what Net is, for its file
	Continue *trainer.Continuation // how far Net was trained; nil = not at all
}

// Init makes the run directory of a configuration with a first checkpoint, from
// which Train goes on with the same configuration. A run that is there already is
// refused (exit code 2).
func Init(ctx context.Context, opt Options, b Beginning) (path string, err error) {
	if err := opt.Training.CheckNew(b.Net, b.From); err != nil {
		return "", err
	}
	if b.Net != nil {
		if err := writeInitial(opt, b.Net, b.From); err != nil {
			return "", err
		}
	}
	r := newTraining(opt)
	if err = r.open(ctx); err == nil && b.Continue != nil {
		err = r.trainer.Continue(*b.Continue)
		r.saver.steps, r.reporter.firstStep, r.reporter.firstSample = r.trainer.NumSteps(), r.trainer.NumSteps(), r.trainer.NumSamples()
	}
	if err == nil {
		err = r.firstCheckpoint(ctx)
		path = filepath.Join(r.dir.Checkpoints, checkpoint.Name(r.info.Job, r.saver.steps))
	}
	return path, r.close(err)
}

// writeInitial puts the net that a run begins with into its directory; from says what it
// was.
func writeInitial(opt Options, net *nn.Net, from string) error {
	dir := run.Dir{Root: opt.Training.Root}
	if err := fsx.MkdirAll(fsx.OS, dir.Root); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	meta := map[string]string{"name": from, "program": "chessbrain " + opt.Version}
	write := func(w io.Writer) error { return nn.WriteSafetensors(w, net, meta) }
	if err := fsx.WriteFileFunc(fsx.OS, dir.InitialNet(), write); err != nil {
		return fmt.Errorf("write the net of the run: %w", err)
	}
	return nil
}
