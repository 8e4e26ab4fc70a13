package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// initialFile is the net that a run was begun with by Init. It stays: a restart
// measures it as the untrained net.
const initialFile = "initial" + run.NetSuffix

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
	if err := CheckNew(opt.Effective, b); err != nil {
		return "", err
	}
	root := opt.Effective.Config.GetRunDir()
	if b.Net != nil {
		if err := fsx.MkdirAll(fsx.OS, root); err != nil {
			return "", fmt.Errorf("make run directory: %w", err)
		}
		meta := map[string]string{"name": b.From, "program": "chessbrain " + opt.Version}
		write := func(w io.Writer) error { return nn.WriteSafetensors(w, b.Net, meta) }
		if err := fsx.WriteFileFunc(fsx.OS, filepath.Join(root, initialFile), write); err != nil {
			return "", fmt.Errorf("write the net of the run: %w", err)
		}
	}
	r, err := openRun(ctx, opt)
	if err == nil && b.Continue != nil {
		err = r.trainer.Continue(*b.Continue)
		r.saver.steps, r.reporter.firstStep, r.reporter.firstSample = r.trainer.NumSteps(), r.trainer.NumSteps(), r.trainer.NumSamples()
	}
	if err == nil {
		err = r.firstCheckpoint(ctx)
		path = filepath.Join(r.dir.Checkpoints, checkpoint.Name(r.info.Job, r.saver.steps))
	}
	return path, errors.Join(err, r.close())
}

// CheckNew refuses what Init cannot make, and a run that is there.
func CheckNew(e *config.Effective, b Beginning) error {
	root := e.Config.GetRunDir()
	if err := errors.Join(checkRunDir(e), b.check(e)); err != nil {
		return err
	}
	_, there, err := run.ReadRunInfo(root)
	if err != nil {
		return err
	}
	if there || fileThere(filepath.Join(root, initialFile)) {
		return e.Errorf("run_dir", "name another --run-dir, or go on with chessbrain train", "%s is a run already", root)
	}
	return nil
}

// check holds the net against what the configuration says of it.
func (b *Beginning) check(e *config.Effective) error {
	if b.Net == nil {
		return nil
	}
	want, err := setup.ArchOf(e.Config.GetModel().GetArch())
	if err != nil {
		return &config.Error{Field: "model.arch", Reason: err.Error()}
	}
	if said := saysArch(e); want != b.Net.Arch && said != "" {
		return e.Errorf(said, "leave model.arch away, or carry the weights over with chessbrain migrate-checkpoint",
			"the configuration wants a net %s, and %s is a net %s", want, b.From, b.Net.Arch)
	}
	return nil
}

// archFields are the fields of an architecture.
var archFields = []string{"conv_tower.filters", "conv_tower.blocks", "conv_tower.se_ratio", "activation", "input_format", "policy_head", "value_head",
	"value_channels", "value_hidden", "moves_left", "moves_left_channels", "moves_left_hidden"}

// saysArch returns a field of the architecture that somebody set, "" where all are
// defaults.
func saysArch(e *config.Effective) string {
	for _, f := range archFields {
		if path := "model.arch." + f; e.Origin(path) != "default" {
			return path
		}
	}
	return ""
}

func fileThere(path string) bool {
	_, err := fsx.OS.Stat(path)
	return err == nil
}
