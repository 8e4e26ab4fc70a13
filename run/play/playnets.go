package play

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
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

// NewNetFinder returns where the configuration has its nets: a directory of net
// files, or the run's checkpoints. bootstrap plays while there is none.
func NewNetFinder(e *config.Effective, dir run.Dir, job string) (netFinder, error) {
	bootstrap := func(name string) func() (*foundNet, error) {
		return func() (*foundNet, error) {
			net, err := setup.InitialNet(e, e.Config.GetSeed())
			return &foundNet{net: net, name: name}, err
		}
	}
	models := e.Config.GetSelfplay().GetModelsDir()
	if models == "" {
		return &checkpointNets{dir: dir, job: job, bootstrap: bootstrap(fmt.Sprintf("%s-%s-s0-d0", job, dir.Training))}, nil
	}
	if info, err := os.Stat(models); !ownModels(dir, models) && (err != nil || !info.IsDir()) {
		return nil, e.Errorf("selfplay.models_dir", "make the directory; while it is empty, random weights play", "no such directory")
	}
	return &modelFiles{dir: models, bootstrap: bootstrap(bootstrapName)}, nil
}

// ownModels says whether a directory of nets is the run's own, which is made
// where it is not there: an asynchronous run begins with self-play.
func ownModels(dir run.Dir, models string) bool {
	return filepath.Clean(models) == dir.Models()
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

func (m *modelFiles) find() (*foundNet, error) {
	path, written, err := setup.NewestModel(m.dir)
	if err == nil && m.looked && path == m.path && written.Equal(m.written) {
		return nil, nil
	}
	m.looked = false
	if err != nil {
		return nil, fmt.Errorf("look for nets in %s: %w", m.dir, err)
	}
	found, err := m.load(path)
	if err == nil {
		m.looked, m.path, m.written = true, path, written
	}
	return found, err
}

func (m *modelFiles) load(path string) (*foundNet, error) {
	if path == "" {
		return m.bootstrap()
	}
	net, err := setup.ReadNet(path)
	if err != nil {
		return nil, err
	}
	name := setup.NetNameIn(m.dir, path)
	return &foundNet{net: net, name: name, samples: samplesOf(name)}, nil
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

// modelFiles finds the newest net file below a directory: the one that was
// written last, of equals the last by name. Files and directories whose names
// begin with a dot are still being written.
type modelFiles struct {
	dir       string
	bootstrap func() (*foundNet, error)
	looked    bool
	path      string // of the file found last; "" = none was there
	written   time.Time
}
