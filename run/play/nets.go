package play

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Nets holds the newest weights and hands them to every worker. Publish and the
// workers' reads may run at the same time; the packed weights are shared.
type Nets struct {
	Inference setup.Inference // set before the first Publish
	current   atomic.Pointer[publishedNet]
}

type publishedNet struct {
	name       string
	packed     setup.Packed
	samples    uint64
	generation uint64
}

// Publish makes net, under the given name, what workers use from their next
// batch on. samples is how many training samples it has seen.
func (n *Nets) Publish(name string, net *nn.Net, samples uint64) error {
	packed, err := n.Inference.Pack(net)
	if err != nil {
		return fmt.Errorf("prepare net %s for inference: %w", name, err)
	}
	next := &publishedNet{name: name, packed: packed, samples: samples, generation: 1}
	if old := n.current.Load(); old != nil {
		next.generation = old.generation + 1
	}
	n.current.Store(next)
	return nil
}

// Name returns the newest net's name.
func (n *Nets) Name() string { return n.current.Load().name }

// Close ends the inference; no worker may be at work.
func (n *Nets) Close() error {
	if n.Inference == nil {
		return nil
	}
	return n.Inference.Close()
}

// workerNet gives one worker the newest net. It owns the buffers of an evaluator for
// batches of up to maxBatch positions and is used by one goroutine.
type workerNet struct {
	nets      *Nets
	maxBatch  int
	held      *publishedNet
	evaluator setup.Evaluator
}

// Current returns the newest net and an evaluator for it.
func (w *workerNet) Current() selfplay.Net {
	var ev mcts.Evaluator = w.evaluator
	if newest := w.nets.current.Load(); newest != w.held {
		if err := w.take(newest); err != nil {
			ev = setup.Failed{Err: err}
		} else {
			ev = w.evaluator
		}
	}
	return selfplay.Net{ID: w.held.name, Evaluator: ev, Generation: w.held.generation, Samples: w.held.samples}
}

// take goes over to newest.
func (w *workerNet) take(newest *publishedNet) (err error) {
	w.held = newest
	if w.evaluator != nil {
		return w.evaluator.Swap(newest.packed)
	}
	w.evaluator, err = w.nets.Inference.NewEvaluator(newest.packed, w.maxBatch)
	return err
}

// FoundNet is a net to play with.
type FoundNet struct {
	Net     *nn.Net
	Name    string
	Samples uint64 // training samples that it has seen, as far as known
}

// NetFinder looks for the net that a playing process should use.
type NetFinder struct {
	nets    func() ([]candidate, error) // newest first, at least one
	looked  bool
	current candidate // what Find returned last
}

// candidate is a net that may play.
type candidate struct {
	run.NetFile // Path may be the name of a checkpoint; "" = the first weights
	load        func() (*FoundNet, error)
}

// Find returns the newest net that can play, or nil where that is the one it returned
// last. The error is that of newer ones, which are looked at again the next time. A net
// older than the last one is none to go back to because of them.
func (f *NetFinder) Find() (*FoundNet, error) {
	all, err := f.nets()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, c := range all {
		same := c.Path == f.current.Path && c.Written.Equal(f.current.Written)
		if f.looked && (same || len(errs) > 0 && !f.current.Older(&c.NetFile)) {
			break
		}
		found, err := c.load()
		if err == nil {
			if err = setup.TryNet(context.Background(), found.Net); err == nil {
				f.looked, f.current = true, c
				return found, errors.Join(errs...)
			}
			err = fmt.Errorf("net %s (%s): %w", found.Name, c.Path, err)
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Forget lets Find return the newest net again.
func (f *NetFinder) Forget() { f.looked = false }

// bootstrapName is the net that plays while a directory of nets is empty: random
// weights.
const bootstrapName = "random"

// NewNetFinder returns where the configuration has its nets: a directory of net
// files, or the run's checkpoints. Its first weights play while there is none.
func NewNetFinder(e *setup.Effective, s *setup.SelfPlay) *NetFinder {
	bootstrap := func(name string) (*FoundNet, error) {
		net, err := setup.FirstNet(e, s.Seed)
		return &FoundNet{Net: net, Name: name}, err
	}
	if s.Models == "" {
		return checkpointNets(s.Dir, s.Job, bootstrap)
	}
	return modelFiles(s.Dir, s.Models, bootstrap)
}

// checkpointNets finds the newest checkpoint of a run.
func checkpointNets(dir run.Dir, job string, bootstrap func(name string) (*FoundNet, error)) *NetFinder {
	name := func(samples, rows int64) string {
		return fmt.Sprintf("%s-%s-s%d-d%d", job, dir.Training, samples, rows)
	}
	load := func() (*FoundNet, error) {
		k, err := checkpoint.Load(fsx.OS, dir.Checkpoints)
		if errors.Is(err, checkpoint.ErrNoCheckpoint) {
			return bootstrap(name(0, 0))
		}
		if err != nil {
			return nil, err
		}
		net, err := setup.CheckpointNet(k)
		return &FoundNet{Net: net, Samples: uint64(k.Manifest.Samples), Name: name(k.Manifest.Samples, k.Manifest.Rows)}, err
	}
	return &NetFinder{nets: func() ([]candidate, error) {
		newest, err := checkpoint.Current(fsx.OS, dir.Checkpoints)
		return []candidate{{run.NetFile{Path: newest}, load}}, err
	}}
}

// modelFiles finds the net files below a directory.
func modelFiles(d run.Dir, dir string, bootstrap func(name string) (*FoundNet, error)) *NetFinder {
	return &NetFinder{nets: func() (all []candidate, err error) {
		nets, err := setup.NetsBelow(d, dir)
		if err != nil {
			return nil, fmt.Errorf("look for nets in %s: %w", dir, err)
		}
		if len(nets) == 0 {
			return []candidate{{load: func() (*FoundNet, error) { return bootstrap(bootstrapName) }}}, nil
		}
		for _, n := range nets {
			all = append(all, candidate{n, func() (*FoundNet, error) {
				net, err := setup.ReadNet(n.Path)
				_, samples, _, _ := run.ParseNetName(n.Name) // 0 of other names
				return &FoundNet{Net: net, Name: n.Name, Samples: uint64(samples)}, err
			}})
		}
		return all, nil
	}}
}
