package cuda

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// bucket returns the size that n positions are captured for: a power of two, or the
// half way to the next one, or maxBatch.
func bucket(n, maxBatch int) int {
	size := 1
	for size < n {
		if half := size + size/2; half >= n {
			return min(half, maxBatch)
		}
		size *= 2
	}
	return min(size, maxBatch)
}

// graphKey is what captured launches of a net differ in.
type graphKey struct {
	size  int
	shape kernels.TowerShape
}

// graph returns the captured launches of net for a bucket.
func (s *slot) graph(net *Net, size int) (driver.Graph, error) {
	need := net.form.work(size)
	if s.net != net || need > s.work.bytes {
		if err := s.dropGraphs(); err != nil {
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
	key := graphKey{size, s.dev.tuned.shape(net.form, size)}
	if g := s.graphs[key]; g != nil {
		return g, nil
	}
	g, err := s.capture(net, key)
	if err != nil {
		return nil, fmt.Errorf("capture a batch of %d: %w", size, err)
	}
	s.graphs[key] = g
	return g, nil
}

// launches lists those of a net for a batch in this slot.
func (s *slot) launches(net *Net, key graphKey) []kernels.Launch {
	l := newBatchLayout(key.size)
	return net.form.launches(key.size, key.shape, batchMemory{
		count: s.in, masks: s.in.Offset(l.masks), scalars: s.in.Offset(l.scalars), start: s.in.Offset(l.start), legal: s.in.Offset(l.legal),
		wdl: s.out, movesLeft: s.out.Offset(l.movesLeft), prior: s.out.Offset(l.prior), work: s.workAt,
	})
}

// capture makes the graph.
func (s *slot) capture(net *Net, key graphKey) (driver.Graph, error) {
	launches := s.launches(net, key)
	for _, launch := range launches {
		if err := s.dev.kernels.Prepare(launch); err != nil {
			return nil, err
		}
	}
	if err := s.stream.BeginCapture(); err != nil {
		return nil, err
	}
	for _, launch := range launches {
		if err := s.dev.kernels.Run(s.stream, launch); err != nil {
			g, end := s.stream.EndCapture()
			if end == nil {
				end = g.Destroy()
			}
			return nil, errors.Join(err, end)
		}
	}
	return s.stream.EndCapture()
}

func (s *slot) dropGraphs() error {
	var errs []error
	for _, g := range s.graphs {
		errs = append(errs, g.Destroy())
	}
	clear(s.graphs)
	return errors.Join(errs...)
}
