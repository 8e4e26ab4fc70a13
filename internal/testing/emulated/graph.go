//go:build linux || darwin

package emulated

import (
	"errors"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// graph implements driver.Graph.
type graph struct {
	d         *device
	work      []func() error
	destroyed bool
}

// BeginCapture implements driver.Stream.
func (s *stream) BeginCapture() error {
	err := s.begin("begin capture")
	defer s.d.mu.Unlock()
	if err == nil && s.capture != nil {
		err = errors.New("begin capture: the stream is capturing")
	}
	if err == nil {
		s.capture = &graph{d: s.d}
	}
	return err
}

// EndCapture implements driver.Stream.
func (s *stream) EndCapture() (driver.Graph, error) {
	err := s.begin("end capture")
	defer s.d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if s.capture == nil {
		return nil, errors.New("end capture: the stream is not capturing")
	}
	g := s.capture
	s.capture = nil
	return g, nil
}

// LaunchGraph implements driver.Stream.
func (s *stream) LaunchGraph(dg driver.Graph) error {
	err := s.begin("launch graph")
	defer s.d.mu.Unlock()
	if err != nil {
		return err
	}
	g, ok := dg.(*graph)
	switch {
	case !ok || g.d != s.d:
		return errors.New("launch graph: it is another device's")
	case g.destroyed:
		return errors.New("launch graph: it is destroyed")
	case s.capture != nil:
		return errors.New("launch graph: the stream is capturing")
	}
	s.add(func() error {
		for _, run := range g.work {
			if err := run(); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// Destroy implements driver.Graph; launches that were made are still done.
func (g *graph) Destroy() error {
	g.d.mu.Lock()
	defer g.d.mu.Unlock()
	if g.destroyed {
		return errors.New("destroy graph: it was destroyed before")
	}
	g.destroyed = true
	return nil
}
