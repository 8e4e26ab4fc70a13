//go:build chessbrain_cuda

package driver

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"gorgonia.org/cu"
)

// stream is a CUDA stream that does not wait for the legacy default stream.
type stream struct {
	gpu       *gpu
	cu        cu.Stream
	capturing atomic.Bool
	destroyed atomic.Bool
}

// do is gpu.do for a call on the stream. A destroyed one is cu's zero Stream, which
// would be the legacy default stream.
func (s *stream) do(call string, f func() error) error {
	if s.destroyed.Load() {
		return fmt.Errorf("%s: the stream is destroyed", call)
	}
	return s.gpu.do(call, f)
}

func (g *gpu) NewStream() (Stream, error) {
	s := &stream{gpu: g}
	err := g.do("cuStreamCreate", func() (err error) {
		s.cu, err = cu.MakeStream(cu.NonBlocking)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// CopyToDevice: page-locked src is read when the stream gets there, other memory
// before this returns.
func (s *stream) CopyToDevice(dst Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return s.copies("cuMemcpyHtoDAsync", src, func() error {
		return cu.MemcpyHtoDAsync(cu.DevicePtr(dst), unsafe.Pointer(unsafe.SliceData(src)), int64(len(src)), s.cu)
	})
}

// CopyToHost: with dst that is not page-locked this returns when the copy is done.
func (s *stream) CopyToHost(dst []byte, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	return s.copies("cuMemcpyDtoHAsync", dst, func() error {
		return cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(dst)), cu.DevicePtr(src), int64(len(dst)), s.cu)
	})
}

// copies makes a copy between b and the device. Where b is not page-locked it waits
// for the end: CUDA says only that such a copy may be synchronous, and memory of Go
// may be passed to C for the length of a call alone. A graph keeps the address, so a
// captured copy needs page-locked memory.
func (s *stream) copies(call string, b []byte, copy func() error) error {
	pinned := s.gpu.isPinned(b)
	if !pinned && s.capturing.Load() {
		return errors.New("a captured copy needs memory of AllocHost: the graph keeps its address")
	}
	return s.do(call, func() error {
		if err := copy(); err != nil || pinned {
			return err
		}
		return s.cu.Synchronize()
	})
}

func (s *stream) CopyOnDevice(dst, src Ptr, bytes int) error {
	if bytes == 0 {
		return nil
	}
	return s.do("cuMemcpyDtoDAsync", func() error {
		return cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), int64(bytes), s.cu)
	})
}

func (s *stream) CopyFromPeer(dst Ptr, peer Device, src Ptr, bytes int) error {
	from, ok := peer.(*gpu)
	if !ok {
		return fmt.Errorf("copy from a peer: %T is no device of this driver", peer)
	}
	if bytes == 0 {
		return nil
	}
	return s.do("cuMemcpyPeerAsync", func() error {
		if _, known := s.gpu.peers.LoadOrStore(from.info.Ordinal, true); !known {
			_ = from.context.EnablePeerAccess(0) // where the machine has no way, the driver copies by the host
		}
		return cu.MemcpyPeerAsync(cu.DevicePtr(dst), s.gpu.context, cu.DevicePtr(src), from.context, int64(bytes), s.cu)
	})
}

func (s *stream) Memset(dst Ptr, value byte, bytes int) error {
	if bytes == 0 {
		return nil
	}
	return s.do("cuMemsetD8Async", func() error {
		return cu.MemsetD8Async(cu.DevicePtr(dst), value, int64(bytes), s.cu)
	})
}

func (s *stream) Launch(f Function, grid, block Dim, shared int, args []byte) error {
	k, ok := f.(*function)
	if !ok {
		return fmt.Errorf("launch: %T is no kernel of this device", f)
	}
	return s.do("cuLaunchKernel", func() error { return launch(k.cu, grid, block, shared, s.cu, args) })
}

func (s *stream) Record(e Event) error {
	v, ok := e.(*event)
	if !ok {
		return fmt.Errorf("record: %T is no event of this device", e)
	}
	return s.do("cuEventRecord", func() error { return v.cu.Record(s.cu) })
}

func (s *stream) Wait(e Event) error {
	v, ok := e.(*event)
	if !ok {
		return fmt.Errorf("wait: %T is no event of this device", e)
	}
	return s.do("cuStreamWaitEvent", func() error { return s.cu.Wait(v.cu, 0) })
}

func (s *stream) Synchronize() error {
	return s.do("cuStreamSynchronize", s.cu.Synchronize)
}

// BeginCapture leaves other threads free to allocate and to synchronise (relaxed
// mode), and may end on another thread than it began.
func (s *stream) BeginCapture() error {
	err := s.do("cuStreamBeginCapture", func() error { return beginCapture(s.cu) })
	if err == nil {
		s.capturing.Store(true)
	}
	return err
}

func (s *stream) EndCapture() (Graph, error) {
	s.capturing.Store(false) // however it ends
	g := &graph{gpu: s.gpu}
	err := s.do("cuStreamEndCapture and cuGraphInstantiate", func() (err error) {
		g.exec, err = endCapture(s.cu)
		return err
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (s *stream) LaunchGraph(g Graph) error {
	v, ok := g.(*graph)
	if !ok {
		return fmt.Errorf("launch graph: %T is no graph of this device", g)
	}
	return s.do("cuGraphLaunch", func() error { return launchGraph(v.exec, s.cu) })
}

// Destroy lets the device finish what the stream has.
func (s *stream) Destroy() error {
	if s.destroyed.Swap(true) {
		return errors.New("cuStreamDestroy: the stream is destroyed")
	}
	return s.gpu.release("cuStreamDestroy", s.cu.Destroy)
}

// graph is an instantiated graph.
type graph struct {
	gpu  *gpu
	exec graphExec
}

func (g *graph) Destroy() error {
	return g.gpu.release("cuGraphExecDestroy", func() error { return destroyGraph(g.exec) })
}

// event times, and blocks the thread that waits for it.
type event struct {
	gpu *gpu
	cu  cu.Event
}

func (g *gpu) NewEvent() (Event, error) {
	e := &event{gpu: g}
	err := g.do("cuEventCreate", func() (err error) {
		e.cu, err = cu.MakeEvent(cu.BlockingSyncEvent)
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (e *event) Synchronize() error {
	return e.gpu.do("cuEventSynchronize", e.cu.Synchronize)
}

func (e *event) ElapsedSince(earlier Event) (ms float32, err error) {
	v, ok := earlier.(*event)
	if !ok {
		return 0, fmt.Errorf("elapsed time: %T is no event of this device", earlier)
	}
	err = e.gpu.do("cuEventElapsedTime", func() error {
		t, err := v.cu.Elapsed(e.cu)
		ms = float32(t)
		return err
	})
	return ms, err
}

func (e *event) Destroy() error {
	return e.gpu.release("cuEventDestroy", func() error { return cu.DestroyEvent(&e.cu) })
}
