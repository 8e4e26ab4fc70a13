package loop

import (
	"fmt"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/selfplay"
)

// Nets holds the newest weights and hands them to every worker. Publish and the
// workers' reads may run at the same time; the packed weights are shared.
type Nets struct {
	precision kernel.Precision // of the workers' products; set before the first Publish
	current   atomic.Pointer[publishedNet]
}

type publishedNet struct {
	name       string
	packed     *cpu.Net
	samples    uint64
	generation uint64
}

// Publish makes net, under the given name, what workers use from their next
// batch on. samples is how many training samples it has seen.
func (n *Nets) Publish(name string, net *nn.Net, samples uint64) error {
	packed, err := cpu.New(net, n.precision)
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
	evaluator *cpu.Evaluator
}

// Current returns the newest net and an evaluator for it.
func (w *WorkerNet) Current() selfplay.Net {
	if newest := w.nets.current.Load(); newest != w.held {
		w.held = newest
		if w.evaluator == nil {
			w.evaluator = newest.packed.NewEvaluator(w.maxBatch)
		} else {
			w.evaluator.Swap(newest.packed)
		}
	}
	return selfplay.Net{ID: w.held.name, Evaluator: w.evaluator, Generation: w.held.generation, Samples: w.held.samples}
}
