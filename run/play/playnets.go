package play

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

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
type netFinder interface {
	// find returns the newest net, or nil where that is the one it returned last.
	// After an error it looks at everything again.
	find() (*foundNet, error)
}

// bootstrapName is the net that plays while a directory of nets is empty: random
// weights.
const bootstrapName = "random"

// newNetFinder returns where the configuration has its nets: a directory of net
// files, or the run's checkpoints. Its first weights play while there is none.
func newNetFinder(e *setup.Effective, s *setup.SelfPlay) netFinder {
	bootstrap := func(name string) func() (*foundNet, error) {
		return func() (*foundNet, error) {
			net, err := setup.InitialNet(e, s.Seed)
			return &foundNet{net: net, name: name}, err
		}
	}
	if s.Models == "" {
		return &checkpointNets{dir: s.Dir, job: s.Job, bootstrap: bootstrap(fmt.Sprintf("%s-%s-s0-d0", s.Job, s.Dir.Training))}
	}
	return &modelFiles{dir: s.Models, bootstrap: bootstrap(bootstrapName)}
}

// checkpointNets finds the newest checkpoint of a run.
type checkpointNets struct {
	dir       run.Dir
	job       string
	bootstrap func() (*foundNet, error)
	looked    bool
	current   string // checkpoint whose net was found last; "" = none was there
}

func (c *checkpointNets) find() (*foundNet, error) {
	marked, err := checkpoint.Current(fsx.OS, c.dir.Checkpoints)
	if err == nil && c.looked && marked == c.current {
		return nil, nil
	}
	c.looked = false
	if err != nil {
		return nil, err
	}
	found, err := c.load()
	if err == nil {
		c.looked, c.current = true, marked
	}
	return found, err
}

func (c *checkpointNets) load() (*foundNet, error) {
	k, err := checkpoint.Load(fsx.OS, c.dir.Checkpoints)
	if errors.Is(err, checkpoint.ErrNoCheckpoint) {
		return c.bootstrap()
	}
	if err != nil {
		return nil, err
	}
	net, err := setup.CheckpointNet(k)
	return &foundNet{net: net, samples: uint64(k.Manifest.Samples),
		name: fmt.Sprintf("%s-%s-s%d-d%d", c.job, c.dir.Training, k.Manifest.Samples, k.Manifest.Rows)}, err
}

// modelFiles finds the newest net file below a directory.
type modelFiles struct {
	dir       string
	bootstrap func() (*foundNet, error)
	looked    bool
	current   run.NetFile // the one found last; the zero value = none was there
}

func (m *modelFiles) find() (*foundNet, error) {
	newest, err := setup.NewestNet(m.dir)
	if newest == nil {
		newest = &run.NetFile{}
	}
	if err == nil && m.looked && newest.Path == m.current.Path && newest.Written.Equal(m.current.Written) {
		return nil, nil
	}
	m.looked = false
	if err != nil {
		return nil, fmt.Errorf("look for nets in %s: %w", m.dir, err)
	}
	found, err := m.load(newest)
	if err == nil {
		m.looked, m.current = true, *newest
	}
	return found, err
}

func (m *modelFiles) load(f *run.NetFile) (*foundNet, error) {
	if f.Path == "" {
		return m.bootstrap()
	}
	net, err := setup.ReadNet(f.Path)
	if err != nil {
		return nil, err
	}
	return &foundNet{net: net, name: f.Name, samples: samplesOf(f.Name)}, nil
}

var netNameForm = regexp.MustCompile(`-s(\d+)-d\d+$`)

// samplesOf reads the samples from a net's name <job>-<training>-s<samples>-d<rows>;
// 0 for other names.
func samplesOf(name string) uint64 {
	parts := netNameForm.FindStringSubmatch(name)
	if parts == nil {
		return 0
	}
	n, _ := strconv.ParseUint(parts[1], 10, 64) // digits; one too large for uint64 gives the largest
	return n
}
