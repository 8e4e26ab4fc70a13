package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// tuner finds out which shape of the fused tower is the fastest on its device: more
// boards to a block read less of the L2 cache, and wait longer at barriers. The answers
// are the same bits.
type tuner struct {
	mu   sync.Mutex
	best map[string]kernels.TowerShape // by batch size and the shapes that there were to choose from
}

// tuneRuns is how often each shape runs; its shortest time counts. tuneGain is what
// another one than the first must save.
const (
	tuneRuns = 3
	tuneGain = 0.02
)

// choose returns the shape for batches of a size, the first of each number of boards
// being measured with run, which returns its time, unless that is known. Nets with the
// same shapes share what is known; evaluators wait for one another.
func (t *tuner) choose(size int, shapes []kernels.TowerShape, run func(kernels.TowerShape) (float32, error)) (kernels.TowerShape, error) {
	if len(shapes) == 0 {
		return kernels.TowerShape{}, nil
	}
	key := fmt.Sprint(size, shapes)
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.best[key]; ok {
		return s, nil
	}
	seen := 0
	shapes = slices.DeleteFunc(slices.Clone(shapes), func(s kernels.TowerShape) bool {
		known := seen&s.Boards != 0 // 1, 2 or 4
		seen |= s.Boards
		return known
	})
	if len(shapes) == 1 {
		return shapes[0], nil
	}
	least := slices.Repeat([]float32{math.MaxFloat32}, len(shapes))
	for range tuneRuns { // in turn, so that what else the device does meets all
		for i, s := range shapes {
			ms, err := run(s)
			if err != nil {
				return kernels.TowerShape{}, fmt.Errorf("measure shapes of the net: %w", err)
			}
			least[i] = min(least[i], ms)
		}
	}
	best := slices.Index(least, slices.Min(least))
	if least[best] > least[0]*(1-tuneGain) {
		best = 0
	}
	if t.best == nil {
		t.best = map[string]kernels.TowerShape{}
	}
	t.best[key] = shapes[best]
	return shapes[best], nil
}

// time returns the milliseconds of a launch.
func (s *slot) time(l kernels.Launch) (ms float32, err error) {
	if err := s.dev.kernels.Prepare(l); err != nil {
		return 0, err
	}
	once := memory{d: s.dev.driver}
	defer func() { err = errors.Join(err, once.free()) }()
	began, ended := once.event(), once.event()
	if once.err != nil {
		return 0, once.err
	}
	if err := errors.Join(s.stream.Record(began), s.dev.kernels.Run(s.stream, l), s.stream.Record(ended)); err != nil {
		return 0, err
	}
	if err := ended.Synchronize(); err != nil {
		return 0, err
	}
	return ended.ElapsedSince(began)
}
