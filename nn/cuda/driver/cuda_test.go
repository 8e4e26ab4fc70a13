//go:build chessbrain_cuda

package driver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/chessbrain/chessbrain/internal/testing/checked"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// These tests hold for a GPU, and for testdata/fakecuda.c, over which
// TestGPUDriver runs them where there is none.

// addPTX is a kernel whose argument struct is addArgs: out[i] = in[i] + value.
const addPTX = `.version 6.0
.target sm_60
.address_size 64
.visible .entry add(.param .align 8 .b8 a[24])
{
.reg .pred %p;
.reg .b32 %r<6>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [a+8];
ld.param.u32 %r1, [a+16];
ld.param.u32 %r2, [a+20];
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
mov.u32 %r5, %tid.x;
mad.lo.u32 %r3, %r3, %r4, %r5;
setp.ge.u32 %p, %r3, %r1;
@%p bra DONE;
mul.wide.u32 %rd3, %r3, 4;
add.u64 %rd1, %rd1, %rd3;
add.u64 %rd2, %rd2, %rd3;
ld.global.u32 %r4, [%rd1];
add.u32 %r4, %r4, %r2;
st.global.u32 [%rd2], %r4;
DONE:
ret;
}
`

type addArgs struct {
	In, Out  driver.Ptr
	N, Value int32
}

// openGPU returns the first device, checked, and the kernel.
func openGPU(t *testing.T) (driver.Device, driver.Function) {
	t.Helper()
	if n, err := driver.Count(); err != nil || n < 1 {
		t.Fatalf("%d devices, %v", n, err)
	}
	d := checked.Device(must(driver.Open(0)))
	m := must(d.Load("add", []byte(addPTX)))
	t.Cleanup(func() {
		if err := errors.Join(m.Unload(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	return d, must(m.Function("add"))
}

// ints sees memory as numbers.
func ints(b []byte) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// TestGPUInfo: what a device says of itself is plausible.
func TestGPUInfo(t *testing.T) {
	d, f := openGPU(t)
	i := d.Info()
	t.Logf("%+v", i)
	if i.Name == "" || strings.Contains(i.Name, "\x00") || i.Major < 6 || i.SMs < 1 || i.SharedPerCTA < 48<<10 || i.SharedPerSM < i.SharedPerCTA ||
		i.TotalBytes < 1<<29 || i.ClockKHz < 100_000 || i.DriverVersion < 11080 {
		t.Errorf("device says %+v", i)
	}
	free, total, err := d.MemInfo()
	if err != nil || free == 0 || free > total {
		t.Errorf("memory %d of %d, %v", free, total, err)
	}
	r, err := f.Resources()
	if err != nil || r.Registers < 1 || r.MaxThreads != 1024 || r.LocalBytes != 0 {
		t.Errorf("resources %+v, %v", r, err)
	}
	if n, err := f.Occupancy(256, 0); err != nil || n < 1 {
		t.Errorf("occupancy %d, %v", n, err)
	}
}

// TestGPUWork copies, sets, runs a kernel and a graph of it, from many goroutines
// at once, which the runtime moves between threads.
func TestGPUWork(t *testing.T) {
	d, f := openGPU(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for range 20 {
				if err := work(d, f, int32(g)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// work runs one of everything and compares.
func work(d driver.Device, f driver.Function, value int32) error {
	const n = 1000
	s, h, e1, e2 := must(d.NewStream()), must(d.AllocHost(4*n)), must(d.NewEvent()), must(d.NewEvent())
	in, out := must(d.Alloc(4*n)), must(d.Alloc(4*n))
	numbers := make([]byte, 4*n)
	for i := range ints(numbers) {
		ints(numbers)[i] = int32(i)
	}
	launch := func() error {
		return s.Launch(f, dim(4, 1, 1), dim(256, 1, 1), 0, bytesOf(&addArgs{in, out, n, value}))
	}
	if err := errors.Join(s.Record(e1), s.CopyToDevice(in, numbers), s.Memset(out, 7, 4*n), launch(), s.CopyToHost(h.Bytes(), out), s.Record(e2),
		s.Wait(e2), s.Synchronize(), e2.Synchronize()); err != nil {
		return err
	}
	if ms, err := e2.ElapsedSince(e1); err != nil || ms <= 0 {
		return fmt.Errorf("%g ms, %w", ms, err)
	}
	want := make([]int32, n)
	for i := range want {
		want[i] = int32(i) + value
	}
	if !slices.Equal(ints(h.Bytes()), want) {
		return fmt.Errorf("the kernel gave %v...", ints(h.Bytes())[:5])
	}
	// A graph copies in, runs and copies out each time anew.
	if err := errors.Join(s.BeginCapture(), s.CopyToDevice(in, h.Bytes()), launch(), s.CopyOnDevice(in, out, 4*n), s.CopyToHost(h.Bytes(), in)); err != nil {
		return err
	}
	g, err := s.EndCapture()
	if err != nil {
		return err
	}
	if !slices.Equal(ints(h.Bytes()), want) {
		return errors.New("capturing ran what it captured")
	}
	if err := errors.Join(s.LaunchGraph(g), s.LaunchGraph(g), s.LaunchGraph(g), s.Synchronize()); err != nil {
		return err
	}
	for i := range want {
		want[i] += 3 * value
	}
	if !slices.Equal(ints(h.Bytes()), want) {
		return fmt.Errorf("the graph gave %v...", ints(h.Bytes())[:5])
	}
	return errors.Join(g.Destroy(), e1.Destroy(), e2.Destroy(), s.Destroy(), h.Free(), d.Free(in), d.Free(out))
}

// TestGPUShared: more shared memory than is free must be allowed first.
func TestGPUShared(t *testing.T) {
	d := must(driver.Open(0))
	m := must(d.Load("add", []byte(addPTX)))
	f := must(m.Function("add"))
	s := must(d.NewStream())
	p := must(d.Alloc(4))
	bytes := d.Info().SharedPerCTA
	launch := func() error {
		return s.Launch(f, dim(1, 1, 1), dim(32, 1, 1), bytes, bytesOf(&addArgs{p, p, 1, 0}))
	}
	if bytes > 48<<10 {
		if err := launch(); err == nil || !strings.Contains(err.Error(), "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE: ") {
			t.Errorf("%d bytes of shared memory without leave: %v", bytes, err)
		}
	}
	if err := errors.Join(f.SetMaxShared(bytes), launch(), s.Synchronize()); err != nil {
		t.Error(err)
	}
	if err := f.SetMaxShared(bytes + 1); err == nil || !strings.Contains(err.Error(), "cuFuncSetAttribute") {
		t.Errorf("more shared memory than a block has: %v", err)
	}
	if err := errors.Join(d.Free(p), s.Destroy(), m.Unload(), d.Close()); err != nil {
		t.Error(err)
	}
}

// TestGPUErrors: errors name the call and carry CUDA's words.
func TestGPUErrors(t *testing.T) {
	d := must(driver.Open(0))
	if _, err := d.Alloc(1 << 46); !errors.Is(err, driver.ErrOutOfMemory) || !strings.Contains(err.Error(), "on cuda:0: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory") {
		t.Errorf("64 TB: %v", err)
	}
	for _, n := range []int{0, -1} {
		if _, err := d.Alloc(n); err == nil {
			t.Errorf("%d bytes are allocated", n)
		}
		if _, err := d.AllocHost(n); err == nil {
			t.Errorf("%d page-locked bytes are allocated", n)
		}
	}
	if _, err := d.Load("bad", []byte("not PTX")); err == nil || !strings.Contains(err.Error(), "load kernels bad on cuda:0") || !strings.Contains(err.Error(), "compiler says: ") ||
		strings.HasSuffix(err.Error(), "nothing") {
		t.Errorf("bad PTX: %v", err)
	}
	m := must(d.Load("add", []byte(addPTX)))
	if _, err := m.Function("nobody"); err == nil || !strings.Contains(err.Error(), "kernel nobody of module add: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND: ") {
		t.Errorf("a kernel that is not there: %v", err)
	}
	s, p := must(d.NewStream()), must(d.Alloc(64))
	if err := s.BeginCapture(); err != nil {
		t.Fatal(err)
	}
	if err := s.CopyToDevice(p, make([]byte, 64)); err == nil || !strings.Contains(err.Error(), "AllocHost") {
		t.Errorf("a capture of Go's memory: %v", err)
	}
	g := must(s.EndCapture())
	if err := errors.Join(g.Destroy(), s.Destroy(), d.Free(p), m.Unload(), d.Close()); err != nil {
		t.Error(err)
	}
	for _, ordinal := range []int{-1, 1 << 20} {
		if _, err := driver.Open(ordinal); !errors.Is(err, driver.ErrNoDevice) {
			t.Errorf("Open(%d): %v", ordinal, err)
		}
	}
}

// must returns the value of a call that cannot fail.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// dim is a size of a grid or block.
func dim(x, y, z int) driver.Dim { return driver.Dim{X: x, Y: y, Z: z} }

// bytesOf returns the memory of an argument struct.
func bytesOf[A any](a *A) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(a)), unsafe.Sizeof(*a)) }
