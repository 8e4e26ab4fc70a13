package play

import (
	"fmt"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
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

// ForWorker returns a worker's own source: it owns the buffers of an evaluator
// for batches of up to maxBatch positions and is used by one goroutine.
func (n *Nets) ForWorker(maxBatch int) *WorkerNet {
	return &WorkerNet{nets: n, maxBatch: maxBatch}
}

// WorkerNet gives one worker the newest net. It satisfies selfplay.NetSource.
type WorkerNet struct {
	nets      *Nets
	maxBatch  int
	held      *publishedNet
	evaluator setup.Evaluator
}

// Current returns the newest net and an evaluator for it.
func (w *WorkerNet) Current() selfplay.Net {
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
func (w *WorkerNet) take(newest *publishedNet) (err error) {
	w.held = newest
	if w.evaluator != nil {
		return w.evaluator.Swap(newest.packed)
	}
	w.evaluator, err = w.nets.Inference.NewEvaluator(newest.packed, w.maxBatch)
	return err
}
