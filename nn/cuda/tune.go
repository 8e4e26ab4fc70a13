package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// tuner finds out which shape of the fused tower is the fastest on its device: more
// boards to a block read less of the L2 cache, and wait longer at barriers. The answers
// are the same bits.
type tuner struct {
	measuring sync.Mutex // one at a time

	mu   sync.Mutex
	best map[string]kernels.TowerShape // by the shapes that there were to choose from
}

// tuneRuns is how often each shape runs; its shortest time counts. tuneGain is what
// another one than the first must save.
const (
	tuneRuns = 3
	tuneGain = 0.02
)

// tuneKey names a choice: nets and batches with the same shapes share it.
func tuneKey(shapes []kernels.TowerShape) string { return fmt.Sprint(shapes) }

// shape returns the one to use, as far as is known.
func (t *tuner) shape(f form, boards int) kernels.TowerShape {
	shapes := f.shapes(boards)
	if len(shapes) == 0 {
		return kernels.TowerShape{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.best[tuneKey(shapes)]; ok {
		return s
	}
	return shapes[0]
}

// choose measures shapes with run, which returns a shape's time, unless that has been
// done or is being done: of each number of boards the first.
func (t *tuner) choose(shapes []kernels.TowerShape, run func(kernels.TowerShape) (float32, error)) error {
	key := tuneKey(shapes)
	seen := 0
	shapes = slices.DeleteFunc(slices.Clone(shapes), func(s kernels.TowerShape) bool {
		known := seen&s.Boards != 0 // 1, 2 or 4
		seen |= s.Boards
		return known
	})
	if len(shapes) < 2 {
		return nil
	}
	known := func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		_, ok := t.best[key]
		return ok
	}
	if known() || !t.measuring.TryLock() {
		return nil
	}
	defer t.measuring.Unlock()
	if known() {
		return nil
	}
	least := slices.Repeat([]float32{math.MaxFloat32}, len(shapes))
	for range tuneRuns { // in turn, so that what else the device does meets all
		for i, s := range shapes {
			ms, err := run(s)
			if err != nil {
				return err
			}
			least[i] = min(least[i], ms)
		}
	}
	best := 0
	for i := range shapes {
		if least[i] < least[best] {
			best = i
		}
	}
	if least[best] > least[0]*(1-tuneGain) {
		best = 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.best == nil {
		t.best = map[string]kernels.TowerShape{}
	}
	t.best[key] = shapes[best]
	return nil
}

// tune measures the shapes of net's tower on the batch that has just been answered.
func (s *slot) tune(net *Net, size int) error {
	err := s.dev.tuned.choose(net.form.shapes(size), func(shape kernels.TowerShape) (float32, error) {
		return s.time(s.launches(net, graphKey{size, shape})[0])
	})
	if err != nil {
		return fmt.Errorf("measure shapes of the net: %w", err)
	}
	return nil
}

// time returns the milliseconds of a launch.
func (s *slot) time(l kernels.Launch) (ms float32, err error) {
	if err := s.dev.kernels.Prepare(l); err != nil {
		return 0, err
	}
	var events [2]driver.Event
	defer func() {
		for _, e := range events {
			if e != nil {
				err = errors.Join(err, e.Destroy())
			}
		}
	}()
	for i := range events {
		if events[i], err = s.dev.driver.NewEvent(); err != nil {
			return 0, err
		}
	}
	if err := errors.Join(s.stream.Record(events[0]), s.dev.kernels.Run(s.stream, l), s.stream.Record(events[1])); err != nil {
		return 0, err
	}
	if err := events[1].Synchronize(); err != nil {
		return 0, err
	}
	return events[1].ElapsedSince(events[0])
}
