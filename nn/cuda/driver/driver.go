// Package driver is the seam between nn/cuda and a GPU: memory, streams, modules
// of PTX and launches. Open (build tag chessbrain_cuda) gives real devices through
// gorgonia.org/cu; internal/testing/emulated runs the same kernels compiled for the host,
// for tests, and internal/testing/checked holds every call against the rules.
//
// Every method may be called from any goroutine. Copies, launches and records on
// a Stream are ordered by it and return before they are done; an error of the
// work itself comes from the next Synchronize. After a fault of a kernel every call of
// the process on that device fails, but for those that give something back.
package driver

import "errors"

// Errors of a device; others are wrapped with the driver's own words.
var (
	ErrOutOfMemory = errors.New("out of device memory")
	ErrNoDevice    = errors.New("no such CUDA device")
	ErrFault       = errors.New("fault of the device") // after which a context answers every call with it
)

// Ptr is an address in device memory; 0 is none.
type Ptr uint64

// Offset returns the address n bytes on.
func (p Ptr) Offset(n int) Ptr { return p + Ptr(n) }

// Info describes a device.
type Info struct {
	Ordinal       int    // as CUDA_VISIBLE_DEVICES numbers it
	Name          string // "NVIDIA H200"
	Major, Minor  int    // compute capability
	SMs           int    // streaming multiprocessors
	SharedPerSM   int    // bytes
	SharedPerCTA  int    // bytes a block may ask for, opt-in
	TotalBytes    uint64 // of device memory
	ClockKHz      int    // of the SMs, at most
	DriverVersion int    // 12020 = 12.2
}

// Device is one GPU with its primary context.
type Device interface {
	Info() Info
	// Load makes a module of PTX text.
	Load(name string, ptx []byte) (Module, error)
	// Alloc returns device memory, aligned to 256 bytes; ErrOutOfMemory is wrapped
	// where there is none. Its contents are anything.
	Alloc(bytes int) (Ptr, error)
	Free(Ptr) error
	// AllocHost returns page-locked host memory, which copies need to overlap work.
	AllocHost(bytes int) (Host, error)
	NewStream() (Stream, error)
	NewEvent() (Event, error)
	// MemInfo returns free and total bytes.
	MemInfo() (free, total uint64, err error)
	Close() error
}

// Host is page-locked memory.
type Host interface {
	Bytes() []byte
	Free() error
}

// Module is loaded code.
type Module interface {
	// Function finds a kernel.
	Function(name string) (Function, error)
	Unload() error
}

// Function is a kernel.
type Function interface {
	Name() string
	// SetMaxShared allows launches with that many bytes of dynamic shared memory.
	SetMaxShared(bytes int) error
	// Resources returns what the compiler gave it; zeros where it is not known.
	Resources() (Resources, error)
	// Occupancy returns the blocks of that many threads and bytes of dynamic shared
	// memory which one SM holds at a time.
	Occupancy(threads, shared int) (int, error)
}

// Resources of a kernel.
type Resources struct {
	Registers  int // a thread
	LocalBytes int // a thread, spills included
	MaxThreads int // a block
}

// Dim is the size of a grid or of a block.
type Dim struct{ X, Y, Z int }

// Stream orders work.
type Stream interface {
	CopyToDevice(dst Ptr, src []byte) error
	CopyToHost(dst []byte, src Ptr) error
	CopyOnDevice(dst, src Ptr, bytes int) error
	// CopyFromPeer copies from another device of the process, whose work on src must be
	// done: streams of two devices do not order each other.
	CopyFromPeer(dst Ptr, peer Device, src Ptr, bytes int) error
	Memset(dst Ptr, value byte, bytes int) error
	// Launch runs f with one by-value argument: args is its bytes, laid out as the
	// kernel's C struct. They are copied before Launch returns.
	Launch(f Function, grid, block Dim, shared int, args []byte) error
	Record(Event) error
	Wait(Event) error
	Synchronize() error
	// BeginCapture to EndCapture collects what is put on the stream into a graph
	// instead of running it. Addresses, sizes and arguments are fixed by it.
	BeginCapture() error
	EndCapture() (Graph, error)
	LaunchGraph(Graph) error
	Destroy() error
}

// Graph is captured work.
type Graph interface{ Destroy() error }

// Event is a point in a stream.
type Event interface {
	Synchronize() error
	// ElapsedSince returns the milliseconds of device time after an earlier event;
	// both have happened.
	ElapsedSince(Event) (float32, error)
	Destroy() error
}
