package bench

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// maxIntervals is how many pieces of work a busyMeter looks at: events cost a little.
const maxIntervals = 1024

// busyMeter is a device that can say which share of the time it works: events stand
// before and after what is put on its streams. Work that waits for other work of the
// device counts once.
type busyMeter struct {
	driver.Device

	mu     sync.Mutex
	stream driver.Stream // of base
	base   driver.Event  // what times count from
	on     bool
	pairs  []*eventPair // made so far
	used   int          // of them, since start
}

// eventPair stands around a piece of work.
type eventPair struct {
	events [2]driver.Event
	there  bool // both are on the stream
}

func newBusyMeter(d driver.Device) (m *busyMeter, err error) {
	m = &busyMeter{Device: d}
	if m.stream, err = d.NewStream(); err != nil {
		return nil, err
	}
	if m.base, err = d.NewEvent(); err != nil {
		return nil, errors.Join(err, m.stream.Destroy())
	}
	return m, nil
}

// Unwrap returns the device itself.
func (m *busyMeter) Unwrap() driver.Device { return m.Device }

// NewStream returns a stream that is looked at.
func (m *busyMeter) NewStream() (driver.Stream, error) {
	s, err := m.Device.NewStream()
	return &busyStream{Stream: s, meter: m}, err
}

// Close gives the events back, and the device.
func (m *busyMeter) Close() error {
	var errs []error
	for _, p := range m.pairs {
		errs = append(errs, p.events[0].Destroy(), p.events[1].Destroy())
	}
	return errors.Join(append(errs, m.base.Destroy(), m.stream.Destroy(), m.Device.Close())...)
}

// start begins to look; the device is idle, or what it does does not count.
func (m *busyMeter) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used, m.on = 0, true
	return errors.Join(m.stream.Record(m.base), m.stream.Synchronize())
}

// stop ends it and returns the share of the time in which the device worked, from
// the first piece of work looked at to the last one; 0 where there were none.
func (m *busyMeter) stop() (float64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.on = false
	var times [][2]float32
	for _, p := range m.pairs[:m.used] {
		if !p.there { // on its way: others still use the device
			continue
		}
		if err := p.events[1].Synchronize(); err != nil {
			return 0, err
		}
		var t [2]float32
		for k, e := range p.events {
			var err error
			if t[k], err = e.ElapsedSince(m.base); err != nil {
				return 0, err
			}
		}
		times = append(times, t)
	}
	return union(times), nil
}

// union returns the share of the time from the first begin to the last end that
// intervals cover.
func union(intervals [][2]float32) float64 {
	slices.SortFunc(intervals, func(a, b [2]float32) int { return cmp.Compare(a[0], b[0]) })
	if len(intervals) == 0 {
		return 0
	}
	first, end, busy := float64(intervals[0][0]), float64(intervals[0][0]), 0.0
	for _, t := range intervals {
		from, to := max(float64(t[0]), end), float64(t[1])
		if to > from {
			busy, end = busy+to-from, to
		}
	}
	if end == first {
		return 0
	}
	return busy / (end - first)
}

// pair returns two events, nil where nothing is looked at.
func (m *busyMeter) pair() (*eventPair, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.on || m.used == maxIntervals {
		return nil, nil
	}
	if m.used == len(m.pairs) {
		p := &eventPair{}
		var err error
		if p.events[0], err = m.Device.NewEvent(); err != nil {
			return nil, err
		}
		if p.events[1], err = m.Device.NewEvent(); err != nil {
			return nil, errors.Join(err, p.events[0].Destroy())
		}
		m.pairs = append(m.pairs, p)
	}
	p := m.pairs[m.used]
	p.there = false
	m.used++
	return p, nil
}

// busyStream puts events around work.
type busyStream struct {
	driver.Stream
	meter     *busyMeter
	capturing bool // into a graph: the graph is looked at as a whole
}

func (s *busyStream) around(work func() error) error {
	if s.capturing {
		return work()
	}
	p, err := s.meter.pair()
	if err != nil {
		return err
	}
	if p == nil {
		return work()
	}
	if err := errors.Join(s.Record(p.events[0]), work(), s.Record(p.events[1])); err != nil {
		return err
	}
	s.meter.mu.Lock()
	p.there = true
	s.meter.mu.Unlock()
	return nil
}

func (s *busyStream) Launch(f driver.Function, grid, block driver.Dim, shared int, args []byte) error {
	return s.around(func() error { return s.Stream.Launch(f, grid, block, shared, args) })
}

func (s *busyStream) LaunchGraph(g driver.Graph) error {
	return s.around(func() error { return s.Stream.LaunchGraph(g) })
}

func (s *busyStream) BeginCapture() error {
	s.capturing = true
	return s.Stream.BeginCapture()
}

func (s *busyStream) EndCapture() (driver.Graph, error) {
	s.capturing = false
	return s.Stream.EndCapture()
}
