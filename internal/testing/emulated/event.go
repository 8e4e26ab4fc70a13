//go:build linux || darwin

package emulated

import (
	"errors"
	"fmt"
	"time"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// event implements driver.Event.
type event struct {
	d         *device
	last      *task // of the newest Record; null: none
	at        time.Time
	destroyed bool
}

// NewEvent implements driver.Device.
func (d *device) NewEvent() (driver.Event, error) { return &event{d: d}, nil }

// own returns e as an event of s's device.
func (s *stream) own(e driver.Event, what string) (*event, error) {
	own, ok := e.(*event)
	switch {
	case !ok || own.d != s.d:
		return nil, fmt.Errorf("%s: the event is another device's", what)
	case own.destroyed:
		return nil, fmt.Errorf("%s: the event is destroyed", what)
	}
	return own, nil
}

// Record implements driver.Stream. Graphs are of one stream, which orders them: in a
// capture Record and Wait do nothing.
func (s *stream) Record(e driver.Event) error {
	err := s.begin("record")
	defer s.d.mu.Unlock()
	if err != nil {
		return err
	}
	own, err := s.own(e, "record")
	if err != nil || s.capture != nil {
		return err
	}
	own.last = &task{run: func() error {
		own.at = time.Now()
		return nil
	}}
	s.d.push(s, own.last)
	return nil
}

// Wait implements driver.Stream: for the newest Record so far, which may be none.
func (s *stream) Wait(e driver.Event) error {
	err := s.begin("wait")
	defer s.d.mu.Unlock()
	if err != nil {
		return err
	}
	own, err := s.own(e, "wait")
	if err != nil || s.capture != nil {
		return err
	}
	s.d.push(s, &task{after: own.last})
	return nil
}

// Synchronize implements driver.Event.
func (e *event) Synchronize() error {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	if e.destroyed {
		return errors.New("synchronize: the event is destroyed")
	}
	if e.last != nil {
		e.d.drain(e.last)
	}
	return e.d.usable("synchronize event")
}

// ElapsedSince implements driver.Event, with the host's time.
func (e *event) ElapsedSince(earlier driver.Event) (float32, error) {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	from, ok := earlier.(*event)
	if !ok || from.last == nil || e.last == nil || !from.last.done || !e.last.done {
		return 0, errors.New("elapsed time: an event has not happened")
	}
	return float32(e.at.Sub(from.at).Seconds() * 1e3), nil
}

// Destroy implements driver.Event.
func (e *event) Destroy() error {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	if e.destroyed {
		return errors.New("destroy event: it was destroyed before")
	}
	e.destroyed = true
	return nil
}
