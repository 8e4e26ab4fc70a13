package cuda

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// memory is what one owner has allocated on a device. The first error sticks and
// later allocations return 0, so that a caller looks at err once.
type memory struct {
	d     driver.Device
	ptrs  []driver.Ptr
	hosts []driver.Host
	bytes int
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
	m.ptrs, m.bytes = append(m.ptrs, p), m.bytes+bytes
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
	if m.err != nil || bytes == 0 {
		return nil
	}
	h, err := m.d.AllocHost(bytes)
	if err != nil {
		m.err = err
		return nil
	}
	m.hosts = append(m.hosts, h)
	return h.Bytes()
}

// free gives everything back; the device must be done with it.
func (m *memory) free() error {
	var errs []error
	for _, p := range m.ptrs {
		errs = append(errs, m.d.Free(p))
	}
	for _, h := range m.hosts {
		errs = append(errs, h.Free())
	}
	m.ptrs, m.hosts, m.bytes = nil, nil, 0
	return errors.Join(errs...)
}
