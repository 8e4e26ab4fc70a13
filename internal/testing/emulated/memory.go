//go:build linux || darwin

package emulated

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// poison fills memory that nobody has written: NaN in every format.
const poison = 0xff

// region is memory between two pages that fault. It begins as late as its
// alignment allows: accesses past its end fault, but for up to alignment-1 bytes
// of slack, which are compared with poison later.
type region struct {
	mapped []byte // with both pages
	bytes  []byte
	slack  []byte
	freed  bool
}

func newRegion(n, alignment int) (*region, error) {
	page := unix.Getpagesize()
	whole := (n + page - 1) / page * page
	mapped, err := unix.Mmap(-1, 0, whole+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", n, err)
	}
	fill(mapped[page : page+whole])
	if err := errors.Join(unix.Mprotect(mapped[:page], unix.PROT_NONE), unix.Mprotect(mapped[page+whole:], unix.PROT_NONE)); err != nil {
		return nil, err
	}
	at := page + (whole-n)&^(alignment-1)
	end := page + whole
	return &region{mapped: mapped, bytes: mapped[at : at+n : at+n], slack: mapped[at+n : end : end]}, nil
}

func fill(b []byte) {
	for i := range b[:min(len(b), 1<<12)] {
		b[i] = poison
	}
	for n := 1 << 12; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

func (r *region) start() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(r.bytes))) }

// holds reports whether n bytes at p lie in r.
func (r *region) holds(p uintptr, n int) bool {
	return p >= r.start() && p-r.start()+uintptr(n) <= uintptr(len(r.bytes))
}

// intact returns an error where the slack has been written.
func (r *region) intact() error {
	for i, b := range r.slack {
		if b != poison {
			return fmt.Errorf("somebody wrote %d bytes past the end of the allocation of %d bytes at %#x", i, len(r.bytes), r.start())
		}
	}
	return nil
}

// forbid lets every later access fault; the addresses are not used again before unmap.
func (r *region) forbid() error {
	r.freed = true
	err := r.intact()
	return errors.Join(err, unix.Madvise(r.mapped, unix.MADV_DONTNEED), unix.Mprotect(r.mapped, unix.PROT_NONE))
}

// Alloc implements driver.Device.
func (d *device) Alloc(n int) (driver.Ptr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n <= 0 {
		return 0, fmt.Errorf("alloc %d bytes", n)
	}
	if err := d.usable("alloc"); err != nil {
		return 0, err
	}
	if uint64(n) > d.info.TotalBytes-d.used {
		return 0, fmt.Errorf("alloc %d bytes, %d are free: %w", n, d.info.TotalBytes-d.used, driver.ErrOutOfMemory)
	}
	r, err := newRegion(n, 256)
	if err != nil {
		return 0, err
	}
	d.used += uint64(n)
	d.memory = append(d.memory, r)
	return driver.Ptr(r.start()), nil
}

// Free implements driver.Device. As on a GPU it waits for all work. It works on a
// device that has failed, so that a test's other errors are not buried.
func (d *device) Free(p driver.Ptr) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p == 0 {
		return nil
	}
	if d.closed {
		return fmt.Errorf("free %#x: the device is closed", p)
	}
	for _, r := range d.memory {
		if r.start() != uintptr(p) {
			continue
		}
		if r.freed {
			return fmt.Errorf("free %#x: it was freed before", p)
		}
		d.drain(nil)
		d.used -= uint64(len(r.bytes))
		return d.report(r.forbid())
	}
	return fmt.Errorf("free %#x: no allocation begins there", p)
}

// MemInfo implements driver.Device.
func (d *device) MemInfo() (free, total uint64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.info.TotalBytes - d.used, d.info.TotalBytes, nil
}

// view returns n bytes of device memory at p.
func (d *device) view(p driver.Ptr, n int) ([]byte, error) {
	for _, r := range d.memory {
		if !r.holds(uintptr(p), n) {
			continue
		}
		if r.freed {
			return nil, fmt.Errorf("%d bytes at %#x: they were freed", n, p)
		}
		at := int(uintptr(p) - r.start())
		return r.bytes[at : at+n], nil
	}
	return nil, fmt.Errorf("%d bytes at %#x are in no allocation", n, p)
}

// explain says where the address of a fault lies.
func (d *device) explain(err error) error {
	var f *Fault
	if !errors.As(err, &f) || f.Address == 0 {
		return err
	}
	for _, r := range slices.Concat(d.memory, d.pinned) {
		at := int64(f.Address) - int64(r.start())
		switch size := int64(len(r.bytes)); {
		case at < -int64(unix.Getpagesize()) || at > size+int64(len(r.slack)+unix.Getpagesize()):
		case r.freed:
			return fmt.Errorf("%w: byte %d of %d bytes that were freed", err, at, size)
		default:
			return fmt.Errorf("%w: byte %d of an allocation of %d bytes", err, at, size)
		}
	}
	return err
}

// pinned is page-locked memory.
type pinned struct {
	d *device
	r *region
}

// AllocHost implements driver.Device.
func (d *device) AllocHost(n int) (driver.Host, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n <= 0 {
		return nil, fmt.Errorf("alloc %d bytes of host memory", n)
	}
	r, err := newRegion(n, 64)
	if err != nil {
		return nil, err
	}
	d.pinned = append(d.pinned, r)
	return &pinned{d, r}, nil
}

// Bytes implements driver.Host.
func (p *pinned) Bytes() []byte { return p.r.bytes }

// Free implements driver.Host.
func (p *pinned) Free() error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	if p.r.freed {
		return errors.New("free host memory: it was freed before")
	}
	p.d.drain(nil)
	return p.d.report(p.r.forbid())
}

// isPinned reports whether b lies in page-locked memory.
func (d *device) isPinned(b []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return slices.ContainsFunc(d.pinned, func(r *region) bool { return r.holds(at, len(b)) })
}

// checkMemory compares what lies behind all live memory with what was put there.
func (d *device) checkMemory() error {
	var all error
	for _, r := range slices.Concat(d.memory, d.pinned) {
		if r.freed {
			continue
		}
		if err := r.intact(); err != nil {
			all = errors.Join(all, err)
			fill(r.slack) // said once
		}
	}
	return all
}

// unmap gives all memory back.
func (d *device) unmap() error {
	var all error
	for _, r := range slices.Concat(d.memory, d.pinned) {
		all = errors.Join(all, unix.Munmap(r.mapped))
	}
	d.memory, d.pinned = nil, nil
	return all
}
