//go:build chessbrain_cuda

package driver

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"gorgonia.org/cu"
)

// gpu is a device through the driver's API, in its primary context, which other
// libraries of the process share. CUDA binds a context to an OS thread: each
// method locks its goroutine to one for as long as the call lasts.
type gpu struct {
	info    Info
	device  cu.Device
	context cu.CUContext
	closed  atomic.Bool
	faulted atomic.Bool // a kernel's fault has been reported: the context is of no use

	peers sync.Map // ordinals of devices that this one has copied from

	mu     sync.Mutex
	pinned map[uintptr]int // page-locked memory: address to bytes
}

// errClosed is what a call after Close gets: the context may be gone.
var errClosed = errors.New("the device is closed")

// Count returns the number of devices that CUDA_VISIBLE_DEVICES leaves. An error is
// that of a driver which does not work.
func Count() (int, error) {
	if devices, err := initialized(); err != nil || !devices {
		return 0, err
	}
	n, err := cu.NumDevices()
	return n, failed("cuDeviceGetCount", err)
}

// Describe returns what a device is, without a context on it, which would take time
// and memory there.
func Describe(ordinal int) (Info, error) {
	d, err := deviceOf(ordinal)
	if err != nil {
		return Info{}, err
	}
	return describe(d, ordinal)
}

// deviceOf returns a device by its number.
func deviceOf(ordinal int) (cu.Device, error) {
	n, err := Count()
	if err != nil {
		return 0, err
	}
	if ordinal < 0 || ordinal >= n {
		return 0, fmt.Errorf("%w: cuda:%d, there are %d", ErrNoDevice, ordinal, n)
	}
	d, err := cu.GetDevice(ordinal)
	return d, failed("cuDeviceGet", err)
}

// Open makes a device ready, numbered as CUDA_VISIBLE_DEVICES leaves them. Threads
// that wait for it sleep instead of spinning: the cores belong to the searches.
func Open(ordinal int) (Device, error) {
	d, err := deviceOf(ordinal)
	if err != nil {
		return nil, err
	}
	g := &gpu{device: d, pinned: map[uintptr]int{}}
	if g.info, err = describe(g.device, ordinal); err != nil {
		return nil, err
	}
	if err := g.device.SetPrimaryCtxFlags(cu.SchedBlockingSync); err != nil && err != cu.PrimaryContextActive {
		return nil, failed("cuDevicePrimaryCtxSetFlags", err)
	}
	if g.context, err = g.device.RetainPrimaryCtx(); err != nil {
		return nil, failed("cuDevicePrimaryCtxRetain", err)
	}
	return g, nil
}

// sharedOptIn is CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN.
const sharedOptIn cu.DeviceAttribute = 97

// describe reads what Info holds.
func describe(d cu.Device, ordinal int) (Info, error) {
	i := Info{Ordinal: ordinal, DriverVersion: cu.Version()}
	var err error
	if i.Name, err = d.Name(); err != nil {
		return i, failed("cuDeviceGetName", err)
	}
	for _, a := range []struct {
		to   *int
		from cu.DeviceAttribute
	}{
		{&i.Major, cu.ComputeCapabilityMajor},
		{&i.Minor, cu.ComputeCapabilityMinor},
		{&i.SMs, cu.MultiprocessorCount},
		{&i.SharedPerSM, cu.MaxSharedMemoryPerMultiprocessor},
		{&i.SharedPerCTA, sharedOptIn},
		{&i.ClockKHz, cu.ClockRate},
	} {
		if *a.to, err = d.Attribute(a.from); err != nil {
			return i, failed(fmt.Sprintf("cuDeviceGetAttribute(%d)", a.from), err)
		}
	}
	total, err := d.TotalMem()
	i.TotalBytes = uint64(total)
	return i, failed("cuDeviceTotalMem", err)
}

// do runs one call of the driver in the device's context.
func (g *gpu) do(call string, f func() error) error {
	if g.closed.Load() {
		return fmt.Errorf("%s: %w", call, errClosed)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := enter(g.context)
	if err == nil {
		err = failed(call, f())
	}
	if errors.Is(err, ErrFault) {
		g.faulted.Store(true)
		return fmt.Errorf("%w; this process cannot use cuda:%d any more, start it again", err, g.info.Ordinal)
	}
	return err
}

// release is do for a call that gives something back. After a fault there is nothing
// to give: all of it goes with the context, and only the fault's error is of interest.
func (g *gpu) release(call string, f func() error) error {
	if g.faulted.Load() {
		return nil
	}
	return g.do(call, f)
}

func (g *gpu) Info() Info { return g.info }

func (g *gpu) Alloc(bytes int) (p Ptr, err error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("allocate %d bytes of device memory: not a size", bytes)
	}
	err = g.do("cuMemAlloc", func() error {
		address, err := cu.MemAlloc(int64(bytes))
		p = Ptr(address)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("allocate %d bytes on cuda:%d: %w", bytes, g.info.Ordinal, err)
	}
	return p, nil
}

func (g *gpu) Free(p Ptr) error {
	return g.release("cuMemFree", func() error { return cu.MemFree(cu.DevicePtr(p)) })
}

func (g *gpu) MemInfo() (free, total uint64, err error) {
	err = g.do("cuMemGetInfo", func() error {
		f, t, err := cu.MemInfo()
		free, total = uint64(f), uint64(t)
		return err
	})
	return free, total, err
}

// Close gives the primary context back. Everything that was made on the device
// must be gone: where nobody else holds the context, the driver destroys it. A
// second Close does nothing: the context may be held by another Open by now.
func (g *gpu) Close() error {
	if g.closed.Swap(true) {
		return nil
	}
	err := g.device.ReleasePrimaryCtx()
	if g.faulted.Load() {
		return nil
	}
	return failed("cuDevicePrimaryCtxRelease", err)
}

func (g *gpu) AllocHost(bytes int) (Host, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("allocate %d bytes of page-locked memory: not a size", bytes)
	}
	var h *host
	err := g.do("cuMemHostAlloc", func() error {
		memory, err := allocHost(bytes)
		if err == nil {
			h = &host{g, unsafe.Slice((*byte)(memory), bytes)}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("allocate %d bytes of page-locked memory (host memory that can be neither swapped nor shared; is this machine's, or the container's, used up?): %w", bytes, err)
	}
	g.mu.Lock()
	g.pinned[address(h.memory)] = bytes
	g.mu.Unlock()
	return h, nil
}

// host is page-locked memory, which the driver owns.
type host struct {
	gpu    *gpu
	memory []byte
}

func (h *host) Bytes() []byte { return h.memory }

func (h *host) Free() error {
	at := address(h.memory)
	h.gpu.mu.Lock()
	delete(h.gpu.pinned, at)
	h.gpu.mu.Unlock()
	memory := unsafe.Pointer(unsafe.SliceData(h.memory))
	h.memory = nil
	return h.gpu.release("cuMemFreeHost", func() error { return cu.MemFreeHost(memory) })
}

// isPinned says whether all of b is page-locked memory of this device.
func (g *gpu) isPinned(b []byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for start, n := range g.pinned {
		if at := address(b); at >= start && at+uintptr(len(b)) <= start+uintptr(n) {
			return true
		}
	}
	return false
}

// address returns where a slice lies.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
