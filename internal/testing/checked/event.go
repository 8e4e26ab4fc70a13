package checked

import (
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// checkedEvent is a point in a stream.
type checkedEvent struct {
	device    *checked
	inner     driver.Event
	at        string
	recorded  bool
	capture   *capture // that the last Record was part of
	destroyed bool
}

func (c *checked) NewEvent() (driver.Event, error) {
	if err := c.check("NewEvent", nil); err != nil {
		return nil, err
	}
	e, err := c.inner.NewEvent()
	if err != nil {
		return nil, err
	}
	w := &checkedEvent{device: c, inner: e, at: caller()}
	c.add(w, "event of "+w.at)
	return w, nil
}

// event unwraps an event that can be used. The lock is held.
func (c *checked) event(call string, e driver.Event) (*checkedEvent, error) {
	v, ok := e.(*checkedEvent)
	switch {
	case !ok || v.device != c:
		return nil, c.misuse("%s with an event (%T) of another device", call, e)
	case v.destroyed:
		return nil, c.misuse("%s with the event of %s after Destroy", call, v.at)
	}
	return v, nil
}

// happens fails where an event cannot be waited for on the host. The lock is held.
func (c *checked) happens(call string, e driver.Event) (*checkedEvent, error) {
	v, err := c.event(call, e)
	switch {
	case err != nil:
		return nil, err
	case !v.recorded:
		return nil, c.misuse("%s of the event of %s, which was never recorded", call, v.at)
	case v.capture != nil:
		return nil, c.misuse("%s of the event of %s, which was recorded in a capture", call, v.at)
	}
	return v, nil
}

func (s *checkedStream) Record(e driver.Event) error {
	var v *checkedEvent
	err := s.check("Record", func() (err error) {
		if v, err = s.device.event("Record", e); err == nil {
			v.recorded, v.capture = true, s.capture
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.inner.Record(v.inner)
}

func (s *checkedStream) Wait(e driver.Event) error {
	var v *checkedEvent
	err := s.check("Wait", func() (err error) {
		v, err = s.device.event("Wait", e)
		switch {
		case err != nil:
			return err
		case !v.recorded:
			return s.device.misuse("Wait for the event of %s, which was never recorded", v.at)
		case v.capture != s.capture:
			return s.device.misuse("Wait for the event of %s across the border of a capture", v.at)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.inner.Wait(v.inner)
}

func (e *checkedEvent) Synchronize() error {
	err := e.device.check("Synchronize", func() error {
		_, err := e.device.happens("Synchronize", e)
		return err
	})
	if err != nil {
		return err
	}
	return e.inner.Synchronize()
}

func (e *checkedEvent) ElapsedSince(earlier driver.Event) (float32, error) {
	var v *checkedEvent
	err := e.device.check("ElapsedSince", func() (err error) {
		if _, err = e.device.happens("ElapsedSince", e); err == nil {
			v, err = e.device.happens("ElapsedSince", earlier)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return e.inner.ElapsedSince(v.inner)
}

func (e *checkedEvent) Destroy() error {
	err := e.device.check("Destroy of an event", func() error {
		if e.destroyed {
			return e.device.misuse("event of %s destroyed twice", e.at)
		}
		e.destroyed = true
		delete(e.device.live, e)
		return nil
	})
	if err != nil {
		return err
	}
	return e.inner.Destroy()
}
