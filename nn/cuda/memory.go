package cuda

import (
	"errors"
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// memory is what one owner has allocated and made on a device. The first error sticks and
// what comes later is nothing, 0 or nil, so that a caller looks at err once.
type memory struct {
	d     driver.Device
	bytes int            // of the device
	give  []func() error // gives back what there is, in the order in which it came
	err   error
}

// alloc returns device memory with any contents.
func (m *memory) alloc(bytes int) driver.Ptr {
	if m.err != nil || bytes == 0 {
		return 0
	}
	p, err := m.d.Alloc(bytes)
	if err != nil {
		m.err = fmt.Errorf("with %d MiB taken so far: %w%s", m.bytes>>20, err, m.left())
		return 0
	}
	m.bytes += bytes
	m.give = append(m.give, func() error { return m.d.Free(p) })
	return p
}

// left says what the device has left, for an error.
func (m *memory) left() string {
	free, total, err := m.d.MemInfo()
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (%d of the device's %d MiB are free)", free>>20, total>>20)
}

// floats is alloc for n float32.
func (m *memory) floats(n int) driver.Ptr { return m.alloc(4 * n) }

// host returns page-locked memory.
func (m *memory) host(bytes int) []byte {
	if bytes == 0 {
		return nil
	}
	h := owned(m, func() (driver.Host, error) { return m.d.AllocHost(bytes) }, driver.Host.Free)
	if m.err != nil {
		return nil
	}
	return h.Bytes()
}

func (m *memory) stream() driver.Stream { return owned(m, m.d.NewStream, driver.Stream.Destroy) }
func (m *memory) event() driver.Event   { return owned(m, m.d.NewEvent, driver.Event.Destroy) }

// owned makes something that is given back with the memory.
func owned[T any](m *memory, create func() (T, error), give func(T) error) (none T) {
	if m.err != nil {
		return none
	}
	t, err := create()
	if m.err = err; err != nil {
		return none
	}
	m.give = append(m.give, func() error { return give(t) })
	return t
}

// free gives everything back, the newest first; the device must be done with it.
func (m *memory) free() error {
	var errs []error
	for _, give := range slices.Backward(m.give) {
		errs = append(errs, give())
	}
	m.give, m.bytes = nil, 0
	return errors.Join(errs...)
}
