// Package checked holds every call of a device against the rules of CUDA. The
// emulated device of tests stands behind it, and a GPU may:
//
//	import _ "github.com/chessbrain/chessbrain/internal/testing/signatures"
//
//	d := checked.Device(device)
//	defer d.Close() // the first misuse, or what was left on the device
package checked

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// ErrMisuse is wrapped by what a checked device finds.
var ErrMisuse = errors.New("misuse of the device")

// LeakError lists what Close of a checked device found still there.
type LeakError struct {
	Memory  []string // device and page-locked memory
	Handles []string // streams, events, graphs
}

func (e *LeakError) Error() string {
	return "device closed with things left on it: " + strings.Join(slices.Concat(e.Memory, e.Handles), "; ")
}

// Unwrap makes it an ErrMisuse.
func (e *LeakError) Unwrap() error { return ErrMisuse }

// Device wraps a device and refuses, with ErrMisuse, what a GPU would answer with
// wrong results, a fault or an error much later: copies and kernel arguments that
// do not lie in live memory, things used after their end or freed twice, launches
// past the limits, waits for events that were never recorded, and captures that
// CUDA forbids. Close returns the first misuse, as its error may have been
// dropped, else a LeakError where something is left. Modules may be left.
//
// Allocating while a stream captures is allowed, as Open captures in relaxed mode.
func Device(d driver.Device) driver.Device {
	return &checked{inner: d, live: map[any]string{}}
}

// checked is a device that looks at every call.
type checked struct {
	inner driver.Device

	mu     sync.Mutex
	closed bool
	first  error          // misuse
	memory []*span        // device memory, by base, freed ones not among it
	pinned []*span        // page-locked memory
	live   map[any]string // streams, events and graphs: where they were made
}

// span is an allocation.
type span struct {
	base  uint64
	size  int
	at    string // where it was allocated
	freed bool
}

// holds says whether bytes at p lie in the span.
func (s *span) holds(p uint64, bytes int) bool {
	return p >= s.base && p-s.base < uint64(s.size) && uint64(bytes) <= uint64(s.size)-(p-s.base)
}

// Unwrap returns the device below.
func (c *checked) Unwrap() driver.Device { return c.inner }

// misuse makes an error, and remembers the first. The lock is held.
func (c *checked) misuse(format string, args ...any) error {
	err := fmt.Errorf("%w: "+format, append([]any{ErrMisuse}, args...)...)
	if c.first == nil {
		c.first = err
	}
	return err
}

// check runs rules (nil: none) under the lock, if the device is open. The call
// itself is made without the lock: kernels of an emulated device run in it.
func (c *checked) check(call string, rules func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.misuse("%s after Close of the device", call)
	}
	if rules == nil {
		return nil
	}
	return rules()
}

// add notes something that must be destroyed before Close.
func (c *checked) add(handle any, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[handle] = what
}

// find returns the span that holds bytes at p, or nil.
func find(spans []*span, p uint64, bytes int) *span {
	i, exact := slices.BinarySearchFunc(spans, p, func(s *span, p uint64) int {
		switch {
		case s.base < p:
			return -1
		case s.base > p:
			return 1
		}
		return 0
	})
	if !exact {
		i--
	}
	if i >= 0 && spans[i].holds(p, bytes) {
		return spans[i]
	}
	return nil
}

// insert keeps spans sorted.
func insert(spans []*span, s *span) []*span {
	i := 0
	for i < len(spans) && spans[i].base < s.base {
		i++
	}
	return slices.Insert(spans, i, s)
}

// drop removes a span and marks it freed.
func drop(spans []*span, s *span) []*span {
	s.freed = true
	return slices.DeleteFunc(spans, func(o *span) bool { return o == s })
}

// caller names the first line outside this file's types.
func caller() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.Contains(f.Function, "/driver.(*checked") || !more {
			return fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
	}
}

func (c *checked) Info() driver.Info { return c.inner.Info() }

func (c *checked) MemInfo() (free, total uint64, err error) { return c.inner.MemInfo() }

func (c *checked) Alloc(bytes int) (driver.Ptr, error) {
	err := c.check("Alloc", func() error {
		if bytes <= 0 {
			return c.misuse("Alloc of %d bytes", bytes)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	p, err := c.inner.Alloc(bytes)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p == 0 || p%256 != 0 {
		return 0, c.misuse("the device allocated at %#x, which is not aligned to 256", p)
	}
	c.memory = insert(c.memory, &span{base: uint64(p), size: bytes, at: caller()})
	return p, nil
}

func (c *checked) Free(p driver.Ptr) error {
	err := c.check("Free", func() error {
		s := find(c.memory, uint64(p), 1)
		if s == nil {
			return c.misuse("Free of %#x, which is not allocated (freed twice?)", p)
		}
		if s.base != uint64(p) {
			return c.misuse("Free of %#x, which lies %d bytes inside the allocation of %s", p, uint64(p)-s.base, s.at)
		}
		c.memory = drop(c.memory, s)
		return nil
	})
	if err != nil {
		return err
	}
	return c.inner.Free(p)
}

func (c *checked) AllocHost(bytes int) (driver.Host, error) {
	err := c.check("AllocHost", func() error {
		if bytes <= 0 {
			return c.misuse("AllocHost of %d bytes", bytes)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	h, err := c.inner.AllocHost(bytes)
	if err != nil {
		return nil, err
	}
	s := &span{base: hostAddress(h.Bytes()), size: bytes, at: caller()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pinned = insert(c.pinned, s)
	return &checkedHost{c, h, s}, nil
}

// checkedHost is page-locked memory.
type checkedHost struct {
	device *checked
	inner  driver.Host
	span   *span
}

// Bytes returns nil after Free.
func (h *checkedHost) Bytes() []byte {
	h.device.mu.Lock()
	defer h.device.mu.Unlock()
	if h.span.freed {
		h.device.misuse("Bytes of page-locked memory of %s after Free", h.span.at)
		return nil
	}
	return h.inner.Bytes()
}

func (h *checkedHost) Free() error {
	err := h.device.check("Free of page-locked memory", func() error {
		if h.span.freed {
			return h.device.misuse("page-locked memory of %s freed twice", h.span.at)
		}
		h.device.pinned = drop(h.device.pinned, h.span)
		return nil
	})
	if err != nil {
		return err
	}
	return h.inner.Free()
}

// hostAddress returns where host memory lies.
func hostAddress(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func (c *checked) Close() error {
	left := &LeakError{}
	err := c.check("Close", func() error {
		c.closed = true
		for _, s := range c.memory {
			left.Memory = append(left.Memory, fmt.Sprintf("%d bytes of device memory of %s", s.size, s.at))
		}
		for _, s := range c.pinned {
			left.Memory = append(left.Memory, fmt.Sprintf("%d bytes of page-locked memory of %s", s.size, s.at))
		}
		left.Handles = slices.Sorted(maps.Values(c.live))
		return nil
	})
	if err != nil {
		return err
	}
	err = c.inner.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.first != nil:
		return c.first
	case len(left.Memory)+len(left.Handles) > 0:
		return left
	}
	return err
}
