package checked

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// memory is a device of host memory without any kernels' code: launches do
// nothing. Behind Device it shows what Device lets through.
type memory struct {
	next   driver.Ptr
	blocks map[driver.Ptr][]byte
}

func newMemory() *memory { return &memory{next: 1 << 20, blocks: map[driver.Ptr][]byte{}} }

func (m *memory) Info() driver.Info {
	return driver.Info{Name: "memory", Major: 9, SMs: 2, SharedPerSM: 128 << 10, SharedPerCTA: 100 << 10, TotalBytes: 1 << 20}
}
func (m *memory) Load(name string, ptx []byte) (driver.Module, error) { return memoryModule{}, nil }
func (m *memory) Alloc(bytes int) (driver.Ptr, error) {
	if bytes > 1<<20 {
		return 0, fmt.Errorf("%d bytes: %w", bytes, driver.ErrOutOfMemory)
	}
	p := m.next
	m.blocks[p] = make([]byte, bytes)
	m.next += driver.Ptr(bytes+255)&^255 + 256
	return p, nil
}
func (m *memory) Free(p driver.Ptr) error { delete(m.blocks, p); return nil }
func (m *memory) AllocHost(bytes int) (driver.Host, error) {
	return &memoryHost{make([]byte, bytes)}, nil
}
func (m *memory) NewStream() (driver.Stream, error) { return &memoryStream{m}, nil }
func (m *memory) NewEvent() (driver.Event, error)   { return &memoryEvent{}, nil }
func (m *memory) MemInfo() (uint64, uint64, error)  { return 1 << 19, 1 << 20, nil }
func (m *memory) Close() error                      { return nil }

// at returns bytes of device memory.
func (m *memory) at(p driver.Ptr, bytes int) ([]byte, error) {
	if bytes == 0 {
		return nil, nil
	}
	for base, b := range m.blocks {
		if p >= base && int(p-base)+bytes <= len(b) {
			return b[p-base:][:bytes], nil
		}
	}
	return nil, fmt.Errorf("fault at %#x", p)
}

type memoryHost struct{ bytes []byte }

func (h *memoryHost) Bytes() []byte { return h.bytes }
func (h *memoryHost) Free() error   { return nil }

type memoryModule struct{}

func (memoryModule) Function(name string) (driver.Function, error) {
	if name == "missing" {
		return nil, errors.New("not found")
	}
	return memoryFunction(name), nil
}
func (memoryModule) Unload() error { return nil }

type memoryFunction string

func (f memoryFunction) Name() string                 { return string(f) }
func (f memoryFunction) SetMaxShared(bytes int) error { return nil }
func (f memoryFunction) Resources() (driver.Resources, error) {
	return driver.Resources{Registers: 32, MaxThreads: 256}, nil
}
func (f memoryFunction) Occupancy(threads, shared int) (int, error) { return 1, nil }

type memoryStream struct{ m *memory }

func (s *memoryStream) CopyToDevice(dst driver.Ptr, src []byte) error {
	b, err := s.m.at(dst, len(src))
	copy(b, src)
	return err
}
func (s *memoryStream) CopyToHost(dst []byte, src driver.Ptr) error {
	b, err := s.m.at(src, len(dst))
	copy(dst, b)
	return err
}
func (s *memoryStream) CopyOnDevice(dst, src driver.Ptr, bytes int) error {
	from, err := s.m.at(src, bytes)
	if err != nil {
		return err
	}
	return s.CopyToDevice(dst, from)
}
func (s *memoryStream) CopyFromPeer(dst driver.Ptr, peer driver.Device, src driver.Ptr, bytes int) error {
	m, ok := peer.(*memory)
	if !ok {
		return fmt.Errorf("the device got a %T", peer)
	}
	from, err := m.at(src, bytes)
	if err != nil {
		return err
	}
	return s.CopyToDevice(dst, from)
}
func (s *memoryStream) Memset(dst driver.Ptr, value byte, bytes int) error {
	b, err := s.m.at(dst, bytes)
	for i := range b {
		b[i] = value
	}
	return err
}
func (s *memoryStream) Launch(f driver.Function, grid, block driver.Dim, shared int, args []byte) error {
	if _, ok := f.(memoryFunction); !ok {
		return fmt.Errorf("launch of %T", f)
	}
	return nil
}
func (s *memoryStream) Record(e driver.Event) error       { return expect[*memoryEvent](e) }
func (s *memoryStream) Wait(e driver.Event) error         { return expect[*memoryEvent](e) }
func (s *memoryStream) Synchronize() error                { return nil }
func (s *memoryStream) BeginCapture() error               { return nil }
func (s *memoryStream) EndCapture() (driver.Graph, error) { return memoryGraph{}, nil }
func (s *memoryStream) LaunchGraph(g driver.Graph) error  { return expect[memoryGraph](g) }
func (s *memoryStream) Destroy() error                    { return nil }

// expect fails where a wrapper was handed to the device below.
func expect[T any](v any) error {
	if _, ok := v.(T); !ok {
		return fmt.Errorf("the device got a %T", v)
	}
	return nil
}

type memoryGraph struct{}

func (memoryGraph) Destroy() error { return nil }

type memoryEvent struct{}

func (e *memoryEvent) Synchronize() error { return nil }
func (e *memoryEvent) ElapsedSince(earlier driver.Event) (float32, error) {
	return 1, expect[*memoryEvent](earlier)
}
func (e *memoryEvent) Destroy() error { return nil }

// bytesOf returns the memory of an argument struct.
func bytesOf[A any](a *A) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(a)), unsafe.Sizeof(*a)) }

// dim is a size of a grid or block.
func dim(x, y, z int) driver.Dim { return driver.Dim{X: x, Y: y, Z: z} }
