package setup

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
)

// gpuBatch is the most positions that the GPU evaluates at once. Requests of many
// players make one batch; a larger one is done in parts.
const gpuBatch = 4096

// gpuInference gives all goroutines one evaluator, which collects their positions.
// A net that is swapped in answers whoever asks after that: an answer that a player
// waits for at that moment may be the older net's or the newer one's.
type gpuInference struct {
	dev       *cuda.Device
	precision device.Precision

	mu        sync.Mutex
	evaluator *cuda.Evaluator // nil before the first
	packed    int             // nets so far
	nets      []*gpuNet       // not closed yet: the evaluator's and newer ones
}

// gpuNet is a net on the device; number counts the nets of its Inference.
type gpuNet struct {
	net    *cuda.Net
	number int
}

func openGPUInference(p place, precision device.Precision) (*gpuInference, error) {
	dev, err := openCUDA(p)
	if err != nil {
		return nil, err
	}
	return &gpuInference{dev: dev, precision: precision}, nil
}

func (g *gpuInference) Pack(net *nn.Net) (Packed, error) {
	n, err := g.dev.NewNet(net, g.precision)
	if err != nil {
		return nil, gpuFault(net.ID(), err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.packed++
	packed := &gpuNet{n, g.packed}
	g.nets = append(g.nets, packed)
	return packed, nil
}

func (g *gpuInference) NewEvaluator(p Packed, _ int) (Evaluator, error) {
	return gpuEvaluator{g}, g.swap(p.(*gpuNet))
}

// swap goes over to n, unless a newer one is in use: players see a new net at
// different times.
func (g *gpuInference) swap(n *gpuNet) (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.evaluator == nil {
		if g.evaluator, err = g.dev.NewEvaluator(n.net, gpuBatch); err != nil {
			return gpuFault(n.net.ID(), err)
		}
	} else if g.nets[0].number < n.number {
		g.evaluator.Swap(n.net)
	}
	for len(g.nets) > 0 && g.nets[0].number < n.number { // the evaluator holds what it still needs
		err = errors.Join(err, g.nets[0].net.Close())
		g.nets = g.nets[1:]
	}
	return err
}

// gpuFault says which net the GPU does not take, and where it has too little memory
// what to do: a trainer may have the rest.
func gpuFault(id string, err error) error {
	if errors.Is(err, driver.ErrOutOfMemory) {
		err = fmt.Errorf("%w; train with a smaller --batch-size or with training.device_window: false, or evaluate nets on the CPU (--producer-device cpu, or --device cpu)", err)
	}
	return fmt.Errorf("net %s on the GPU: %w", id, err)
}

func (g *gpuInference) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	if g.evaluator != nil {
		err = g.evaluator.Close()
	}
	for _, n := range g.nets {
		err = errors.Join(err, n.net.Close())
	}
	return errors.Join(err, g.dev.Close())
}

type gpuEvaluator struct{ g *gpuInference }

func (e gpuEvaluator) Evaluate(ctx context.Context, b *encoding.Batch) error {
	return e.g.evaluator.Evaluate(ctx, b)
}

func (e gpuEvaluator) Swap(p Packed) error { return e.g.swap(p.(*gpuNet)) }
