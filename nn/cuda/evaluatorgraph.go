package cuda

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// bucket returns the size that n positions are captured for: a power of two, or the
// half way to the next one, or maxBatch.
func bucket(n, maxBatch int) int {
	size := 1 << bits.Len(uint(n-1))
	if half := size/2 + size/4; half >= n {
		size = half
	}
	return min(size, maxBatch)
}

// graph returns the captured launches of net for a bucket. Where they are new, the
// shapes that the net can have are measured on the batch that lies in the slot.
func (s *slot) graph(net *Net, size int) (driver.Graph, error) {
	need := net.form.work(size)
	if s.net != net || need > s.work.bytes {
		if err := destroyAll(s.graphs); err != nil {
			return nil, fmt.Errorf("replace captured launches: %w", err)
		}
		s.net = net
	}
	if need > s.work.bytes {
		if err := s.work.free(); err != nil {
			return nil, fmt.Errorf("replace activations: %w", err)
		}
		s.work.err = nil
		if s.workAt = s.work.alloc(need); s.work.err != nil {
			return nil, fmt.Errorf("activations of %d positions: %w; use a smaller batch", size, s.work.err)
		}
	}
	if g := s.graphs[size]; g != nil {
		return g, nil
	}
	shape, err := s.dev.tuned.choose(size, net.form.shapes(size), func(shape kernels.TowerShape) (float32, error) {
		return s.time(s.launches(net, size, shape)[0])
	})
	if err != nil {
		return nil, err
	}
	g, err := s.capture(s.launches(net, size, shape))
	if err != nil {
		return nil, fmt.Errorf("capture a batch of %d: %w", size, err)
	}
	s.graphs[size] = g
	return g, nil
}

// launches lists those of a net for a batch in this slot.
func (s *slot) launches(net *Net, size int, shape kernels.TowerShape) []kernels.Launch {
	l := newBatchLayout(size)
	return net.form.launches(size, shape, batchMemory{
		count: s.in, masks: s.in.Offset(l.masks), scalars: s.in.Offset(l.scalars), start: s.in.Offset(l.start), legal: s.in.Offset(l.legal),
		wdl: s.out, movesLeft: s.out.Offset(l.movesLeft), prior: s.out.Offset(l.prior), work: s.workAt,
	})
}

// capture makes the graph.
func (s *slot) capture(launches []kernels.Launch) (driver.Graph, error) {
	for _, launch := range launches {
		if err := s.dev.kernels.Prepare(launch); err != nil {
			return nil, err
		}
	}
	return capture(s.stream, func() error {
		for _, launch := range launches {
			if err := s.dev.kernels.Run(s.stream, launch); err != nil {
				return err
			}
		}
		return nil
	})
}

// capture makes a graph of what enqueue puts on the stream.
func capture(stream driver.Stream, enqueue func() error) (driver.Graph, error) {
	if err := stream.BeginCapture(); err != nil {
		return nil, err
	}
	err := enqueue()
	g, end := stream.EndCapture()
	if err != nil && end == nil {
		end = g.Destroy()
	}
	if err = errors.Join(err, end); err != nil {
		return nil, err
	}
	return g, nil
}

// destroyAll destroys graphs and empties the map of them.
func destroyAll[K comparable](graphs map[K]driver.Graph) error {
	var errs []error
	for _, g := range graphs {
		errs = append(errs, g.Destroy())
	}
	clear(graphs)
	return errors.Join(errs...)
}
