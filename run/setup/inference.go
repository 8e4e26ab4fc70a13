package setup

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/cuda"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/selfplay"
)

// Inference evaluates positions with one net at a time, on one device. All methods
// may be called at any time by any goroutine.
type Inference interface {
	// Pack prepares net. Evaluators answer with it from their Swap on; those of a GPU
	// all together, as they are one.
	Pack(net *nn.Net) (Packed, error)
	// NewEvaluator returns one goroutine's evaluator, for batches of up to maxBatch
	// positions.
	NewEvaluator(p Packed, maxBatch int) (Evaluator, error)
	Close() error
}

// Packed is a net prepared by an Inference, for its evaluators alone.
type Packed any

// Evaluator fills batches with a net's answers. It is used by one goroutine at a time.
type Evaluator interface {
	Evaluate(ctx context.Context, b *encoding.Batch) error
	// Swap makes p the net of the next Evaluate.
	Swap(p Packed) error
}

// TryNet refuses a net that no game can be played with: its numbers, or its answers about
// the start position, are not finite or no probabilities.
func TryNet(ctx context.Context, net *nn.Net) error {
	packed, err := cpu.New(net, kernel.FP32)
	if err != nil {
		return err
	}
	return selfplay.Try(ctx, packed.NewEvaluator(1))
}

// OpenInference opens what a configuration's nets play with. The caller closes it.
func OpenInference(c *config.Config) (Inference, error) {
	p := PlayerDevice(c)
	if p.isCPU() {
		return CpuInference{kernelPrecision(playerPrecision(c))}, nil
	}
	all := &severalGPUs{newest: make([]*sharedNet, len(p))}
	for _, n := range p {
		dev, err := openCUDA(n)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all.each = append(all.each, &gpuInference{dev: dev, precision: playerPrecision(c)})
	}
	if len(p) == 1 {
		return all.each[0], nil
	}
	return all, nil
}

// DescribePlayers names the device and the precision that a configuration's nets play in.
func DescribePlayers(c *config.Config) (device, precision string) {
	return PlayerDevice(c).String(), playerPrecision(c).String()
}

// kernelPrecision is a precision in the words of the CPU's kernels.
func kernelPrecision(p device.Precision) kernel.Precision {
	if p == device.BF16 {
		return kernel.BF16
	}
	return kernel.FP32
}

// CpuInference gives each goroutine an evaluator of its own.
type CpuInference struct{ precision kernel.Precision }

func (c CpuInference) Pack(net *nn.Net) (Packed, error) { return cpu.New(net, c.precision) }

func (c CpuInference) NewEvaluator(p Packed, maxBatch int) (Evaluator, error) {
	return cpuEvaluator{p.(*cpu.Net).NewEvaluator(maxBatch)}, nil
}

func (c CpuInference) Close() error { return nil }

type cpuEvaluator struct{ *cpu.Evaluator }

func (e cpuEvaluator) Swap(p Packed) error { e.Evaluator.Swap(p.(*cpu.Net)); return nil }

// Failed is the evaluator of a net that the device could not take over.
type Failed struct{ Err error }

func (f Failed) Evaluate(context.Context, *encoding.Batch) error { return f.Err }

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

// severalGPUs gives goroutines evaluators of its GPUs in turn.
type severalGPUs struct {
	each []*gpuInference

	mu     sync.Mutex
	given  int          // evaluators so far
	nets   int          // so far
	newest []*sharedNet // by GPU, nil before the first
}

// sharedNet is a net on those of the GPUs that have evaluators; others take it with their
// first. number counts the nets.
type sharedNet struct {
	net    *nn.Net
	number int
	on     []Packed
}

// Pack implements Inference: the net goes to the GPUs that have evaluators.
func (g *severalGPUs) Pack(net *nn.Net) (Packed, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.nets++
	s := &sharedNet{net, g.nets, make([]Packed, len(g.each))}
	for i := range min(max(1, g.given), len(g.each)) {
		if _, err := g.packed(s, i); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// packed is the net on a GPU; where a newer one came there first, that. The lock is held.
func (g *severalGPUs) packed(s *sharedNet, i int) (p Packed, err error) {
	switch n := g.newest[i]; {
	case s.on[i] != nil:
		return s.on[i], nil
	case n != nil && n.number > s.number:
		return n.on[i], nil
	}
	if s.on[i], err = g.each[i].Pack(s.net); err == nil {
		g.newest[i] = s
	}
	return s.on[i], err
}

// NewEvaluator implements Inference.
func (g *severalGPUs) NewEvaluator(p Packed, maxBatch int) (Evaluator, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := g.given % len(g.each)
	on, err := g.packed(p.(*sharedNet), i)
	if err != nil {
		return nil, err
	}
	e, err := g.each[i].NewEvaluator(on, maxBatch)
	if err != nil {
		return nil, err
	}
	g.given++
	return ofSeveral{e, g, i}, nil
}

// Close implements Inference.
func (g *severalGPUs) Close() error {
	var errs []error
	for _, gpu := range g.each {
		errs = append(errs, gpu.Close())
	}
	return errors.Join(errs...)
}

// ofSeveral is an evaluator of one of several GPUs.
type ofSeveral struct {
	Evaluator
	g *severalGPUs
	i int
}

// Swap implements Evaluator.
func (e ofSeveral) Swap(p Packed) error {
	e.g.mu.Lock()
	on, err := e.g.packed(p.(*sharedNet), e.i)
	e.g.mu.Unlock()
	if err != nil {
		return err
	}
	return e.Evaluator.Swap(on)
}
