package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

// rows is the directory of shuffles that training reads: the new one as it is,
// or a mix where anything is left out of it or added. made is its shuffle.
func (r *pass) rows() (dir string, made *shuffle.Manifest, err error) {
	inputs, err := r.rowSources(r.sources)
	if err != nil {
		return "", nil, err
	}
	if only := inputs[0]; len(inputs) == 1 && only.From == 0 && only.To == 0 && only.Dir == r.Dir(Shuffle) {
		at, err := prepare.ShuffleOf(fsx.OS, only.Dir)
		if err != nil {
			return "", nil, err
		}
		if at == "" {
			return "", nil, fmt.Errorf("%w: %s holds no finished shuffle", prepare.ErrNoInput, only.Dir)
		}
		made, err := shuffle.ReadManifest(fsx.OS, at)
		return only.Dir, made, err
	}
	settings := map[string]string{}
	for i, in := range inputs {
		settings[fmt.Sprintf("source_%d", i)] = fmt.Sprintf("%s %d-%d", in.Dir, in.From, in.To)
	}
	m, err := prepare.BeginStep(fsx.OS, r.mixDir(), prepare.Manifest{Step: "mix", Settings: settings})
	if err != nil {
		return "", nil, err
	}
	if made, err = prepare.Mix(inputs, r.mixDir(), r.seed(), r.begun()); err != nil || m.Done {
		return r.mixDir(), made, err
	}
	r.Log.Info("mixed", "shuffles", len(inputs), "rows", made.TrainRows, "files", len(made.Train), "dir", r.mixDir())
	return r.mixDir(), made, prepare.EndStep(fsx.OS, r.mixDir(), m, prepare.Counts{Rows: made.TrainRows + made.HeldRows})
}

// train trains on the rows, from the net that played.
func (r *pass) train(ctx context.Context, s *StepState) error {
	dir, made, err := r.rows()
	if err != nil {
		return err
	}
	if made.TrainRows == 0 {
		return fmt.Errorf("%w: %s has no row to train on", prepare.ErrNoInput, dir)
	}
	net, err := r.net()
	if err != nil {
		return err
	}
	e, err := r.training(dir, 1, net)
	if err != nil {
		return err
	}
	samples := min(r.MaxSamples, made.TrainRows*r.Epochs)
	if e, err = r.training(dir, stepsFor(e, samples), net); err != nil {
		return err
	}
	r.Log.Info("training", "rows", made.TrainRows, "samples", samples, "steps", e.Config.GetTraining().GetSteps(), "from", dir)
	if err := errors.Join(setup.CheckDevices(e, true), ctx.Err()); err != nil {
		return err
	}
	summary, err := train.Train(ctx, train.Options{Training: setup.TrainingOf(e), Command: r.Command, Version: r.Version, Log: r.Log, Progress: r.Progress})
	if err != nil {
		return err
	}
	s.Rows, s.Steps, s.Net, s.Files = made.TrainRows, summary.Steps, summary.Net, len(made.Train)
	return nil
}
