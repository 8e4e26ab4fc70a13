package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// The nets inside a checkpoint: the raw weights, and the averaged ones.
const (
	NetFile     = "net.safetensors"
	AverageFile = "swa.safetensors"
)

// CheckpointNet reads the raw weights of a checkpoint.
func CheckpointNet(c *checkpoint.Checkpoint) (*nn.Net, error) { return netOf(c, NetFile) }

// netOf reads a net file of a checkpoint.
func netOf(c *checkpoint.Checkpoint, name string) (*nn.Net, error) {
	f, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	net, _, err := nn.ReadSafetensors(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s of checkpoint %s: %w", name, c.Path, err)
	}
	return net, nil
}

// FindCheckpoint opens the checkpoint that path means: a checkpoint directory,
// a directory of checkpoints, or a run directory, whose newest one it takes, or
// with RUN@STEP that of a step.
func FindCheckpoint(path string) (*checkpoint.Checkpoint, error) {
	if at := strings.LastIndexByte(path, '@'); at > 0 {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return checkpointOfStep(path[:at], path[at+1:])
		}
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", fs.ErrNotExist, path)
	}
	if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("open checkpoint: %w: %s; name a run or a checkpoint, or a file that ends with %s", syscall.ENOTDIR, path, run.NetSuffix)
	}
	if _, err := os.Stat(filepath.Join(path, "manifest.json")); err == nil {
		return checkpoint.Open(fsx.OS, path)
	}
	dir, err := checkpointsOf(path)
	if err != nil {
		return nil, err
	}
	return checkpoint.Load(fsx.OS, dir)
}

// checkpointsOf returns the directory of the checkpoints of the run at path; path itself
// where that is no run.
func checkpointsOf(path string) (string, error) {
	dir, _, ok, err := runAt(path)
	if err != nil || !ok {
		return path, err
	}
	return dir.Checkpoints, nil
}

// checkpointOfStep opens the checkpoint of a step of a run directory or a
// directory of checkpoints.
func checkpointOfStep(root, text string) (*checkpoint.Checkpoint, error) {
	step, err := strconv.ParseInt(text, 10, 64)
	if err != nil || step < 0 {
		return nil, fmt.Errorf("open checkpoint: %w: %s@%s: want a step, a number, behind the @", fs.ErrNotExist, root, text)
	}
	if _, err := os.Stat(root); err != nil {
		return nil, fmt.Errorf("open checkpoint: %w", err)
	}
	root, err = checkpointsOf(root)
	if err != nil {
		return nil, err
	}
	names, err := checkpoint.List(fsx.OS, root)
	if err != nil {
		return nil, err
	}
	var steps []string
	for _, name := range names {
		_, have, _ := checkpoint.ParseName(name)
		if have == step {
			return checkpoint.Open(fsx.OS, filepath.Join(root, name))
		}
		steps = append(steps, strconv.FormatInt(have, 10))
	}
	if n := len(steps); n > 2*shownSteps {
		steps = slices.Concat(steps[:shownSteps], []string{"..."}, steps[n-shownSteps:])
	}
	return nil, fmt.Errorf("%w of step %d in %s; it has the steps %s", checkpoint.ErrNoCheckpoint, step, root, strings.Join(steps, " "))
}

// shownSteps is how many steps at each end of a long list are told.
const shownSteps = 5

// HasAverage says whether a checkpoint holds averaged weights beside the raw ones.
func HasAverage(c *checkpoint.Checkpoint) bool {
	return slices.ContainsFunc(c.Manifest.Files, func(f checkpoint.ManifestFile) bool { return f.Name == AverageFile })
}

// AveragedNet reads the averaged weights of a checkpoint, with statistics of
// their own.
func AveragedNet(c *checkpoint.Checkpoint) (*nn.Net, error) {
	if !HasAverage(c) {
		return nil, fmt.Errorf("checkpoint %s has no averaged weights (training.swa.period was 0); take the raw ones", c.Manifest.Name)
	}
	return netOf(c, AverageFile)
}
