package play

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// foundNet is a net to play with.
type foundNet struct {
	net     *nn.Net
	name    string
	samples uint64 // training samples that it has seen, as far as known
}

// netFinder looks for the net that a playing process should use.
type netFinder struct {
	mark    func() (string, error) // what tells the newest net from others, "" while there is none
	load    func() (*foundNet, error)
	looked  bool
	current string // mark of the net that was found last
}

// find returns the newest net, or nil where that is the one it returned last.
// After an error it looks at everything again.
func (f *netFinder) find() (*foundNet, error) {
	mark, err := f.mark()
	if err == nil && f.looked && mark == f.current {
		return nil, nil
	}
	f.looked = false
	if err != nil {
		return nil, err
	}
	found, err := f.load()
	f.looked, f.current = err == nil, mark
	return found, err
}

// bootstrapName is the net that plays while a directory of nets is empty: random
// weights.
const bootstrapName = "random"

// newNetFinder returns where the configuration has its nets: a directory of net
// files, or the run's checkpoints. Its first weights play while there is none.
func newNetFinder(e *setup.Effective, s *setup.SelfPlay) *netFinder {
	bootstrap := func(name string) (*foundNet, error) {
		net, err := setup.InitialNet(e, s.Seed)
		return &foundNet{net: net, name: name}, err
	}
	if s.Models == "" {
		return checkpointNets(s.Dir, s.Job, bootstrap)
	}
	return modelFiles(s.Models, bootstrap)
}

// checkpointNets finds the newest checkpoint of a run.
func checkpointNets(dir run.Dir, job string, bootstrap func(name string) (*foundNet, error)) *netFinder {
	name := func(samples, rows int64) string {
		return fmt.Sprintf("%s-%s-s%d-d%d", job, dir.Training, samples, rows)
	}
	return &netFinder{
		mark: func() (string, error) { return checkpoint.Current(fsx.OS, dir.Checkpoints) },
		load: func() (*foundNet, error) {
			k, err := checkpoint.Load(fsx.OS, dir.Checkpoints)
			if errors.Is(err, checkpoint.ErrNoCheckpoint) {
				return bootstrap(name(0, 0))
			}
			if err != nil {
				return nil, err
			}
			net, err := setup.CheckpointNet(k)
			return &foundNet{net: net, samples: uint64(k.Manifest.Samples), name: name(k.Manifest.Samples, k.Manifest.Rows)}, err
		},
	}
}

// modelFiles finds the newest net file below a directory.
func modelFiles(dir string, bootstrap func(name string) (*foundNet, error)) *netFinder {
	var newest *run.NetFile
	return &netFinder{
		mark: func() (mark string, err error) {
			if newest, err = setup.NewestNet(dir); err != nil {
				return "", fmt.Errorf("look for nets in %s: %w", dir, err)
			}
			if newest == nil {
				return "", nil
			}
			return fmt.Sprint(newest.Path, newest.Written.UnixNano()), nil
		},
		load: func() (*foundNet, error) {
			if newest == nil {
				return bootstrap(bootstrapName)
			}
			net, err := setup.ReadNet(newest.Path)
			if err != nil {
				return nil, err
			}
			_, samples, _, _ := run.ParseNetName(newest.Name) // 0 of other names
			return &foundNet{net: net, name: newest.Name, samples: uint64(samples)}, nil
		},
	}
}
