package loop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/trainer"
)

// netSuffix ends the names of net files.
const netSuffix = ".safetensors"

// netFile is the net's name inside a checkpoint.
const netFile = "net.safetensors"

// ReadNet reads a net file.
func ReadNet(path string) (*nn.Net, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read net: %w", err)
	}
	defer f.Close()
	net, _, err := nn.ReadSafetensors(f)
	if err != nil {
		return nil, fmt.Errorf("read net %s: %w", path, err)
	}
	return net, nil
}

// FindNet reads the net that a command should use, and says what it is: the
// given file; else the newest checkpoint of the run directory.
func FindNet(file, root string) (*nn.Net, string, error) {
	if file != "" {
		net, err := ReadNet(file)
		return net, filepath.Base(file), err
	}
	c, err := FindCheckpoint(root)
	if err != nil {
		return nil, "", err
	}
	net, err := CheckpointNet(c)
	return net, c.Manifest.Name, err
}

// CheckpointNet reads the raw weights of a checkpoint.
func CheckpointNet(c *trainer.Checkpoint) (*nn.Net, error) {
	f, err := c.Open(netFile)
	if err != nil {
		return nil, err
	}
	net, _, err := nn.ReadSafetensors(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s of checkpoint %s: %w", netFile, c.Path, err)
	}
	return net, nil
}

// FindCheckpoint opens the checkpoint that path means: a checkpoint directory,
// a directory of checkpoints, or a run directory, whose newest one it takes.
func FindCheckpoint(path string) (*trainer.Checkpoint, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("open checkpoint: %w: %s; name a run or a checkpoint, or a file that ends with %s", syscall.ENOTDIR, path, netSuffix)
	}
	if _, err := os.Stat(filepath.Join(path, "manifest.json")); err == nil {
		return trainer.OpenCheckpoint(fsx.OS, path)
	}
	info, ok, err := ReadRunInfo(path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return trainer.LoadCheckpoint(fsx.OS, path)
	}
	dir, err := dirOfRun(path, info)
	if err != nil {
		return nil, err
	}
	return trainer.LoadCheckpoint(fsx.OS, dir.Checkpoints)
}
