package checked

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// testArgs are the arguments of the kernels test_*.
type testArgs struct {
	In, Out driver.Ptr
	Table   [2]struct {
		At driver.Ptr
		N  int32
	}
	N int32
}

func init() {
	RegisterArguments(func(kernel string) reflect.Type {
		if strings.HasPrefix(kernel, "test_") {
			return reflect.TypeFor[testArgs]()
		}
		return nil
	})
}

// must returns the value of a call that cannot fail.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// bench is a checked device with one of everything.
type bench struct {
	d      driver.Device
	s, s2  driver.Stream
	p      driver.Ptr  // 1000 bytes
	host   driver.Host // 1000 bytes
	module driver.Module
	f      driver.Function
	e      driver.Event // not recorded
}

func newBench() *bench {
	d := Device(newMemory())
	b := &bench{d: d, s: must(d.NewStream()), s2: must(d.NewStream()), p: must(d.Alloc(1000)), host: must(d.AllocHost(1000))}
	b.module = must(d.Load("m", nil))
	b.f = must(b.module.Function("test_kernel"))
	must(b.f.Occupancy(32, 0))
	b.e = must(d.NewEvent())
	return b
}

// close destroys all that newBench made.
func (b *bench) close() error {
	return errors.Join(b.s.Destroy(), b.s2.Destroy(), b.d.Free(b.p), b.host.Free(), b.module.Unload(), b.e.Destroy(), b.d.Close())
}

// launch runs the test kernel on in.
func (b *bench) launch(in driver.Ptr) error {
	return b.s.Launch(b.f, dim(1, 1, 1), dim(32, 1, 1), 0, bytesOf(&testArgs{In: in}))
}

// graph captures a launch and a copy.
func (b *bench) graph() driver.Graph {
	err := errors.Join(b.s.BeginCapture(), b.launch(b.p), b.s.CopyToHost(b.host.Bytes(), b.p))
	return must(must(b.s.EndCapture()), err)
}

// TestAllows runs everything that is right.
func TestAllows(t *testing.T) {
	b, peer := newBench(), newBench()
	copied := make([]byte, 10)
	must(0, peer.s.Memset(peer.p, 'p', 1000))
	text := []byte("hello")
	got := make([]byte, 5)
	inner := b.p.Offset(500)
	args := testArgs{In: b.p, Out: inner}
	args.Table[1].At = b.p.Offset(999)
	other := must(b.module.Function("unknown")) // no struct is registered
	e2 := must(b.d.NewEvent())
	err := errors.Join(
		b.s.CopyToDevice(inner, text), b.s.CopyOnDevice(b.p, inner, 5), b.s.Memset(b.p.Offset(4), '!', 1),
		b.s.CopyToHost(got, b.p), b.s.CopyToDevice(0, nil), b.s.Memset(0, 1, 0), b.s.CopyOnDevice(0, 0, 0),
		b.s.Launch(b.f, dim(1<<30, 65535, 65535), dim(8, 8, 4), 48<<10, bytesOf(&args)),
		b.f.SetMaxShared(100<<10), b.s.Launch(b.f, dim(1, 1, 1), dim(1, 1, 64), 100<<10, bytesOf(&args)),
		b.s.Launch(other, dim(1, 1, 1), dim(1, 1, 1), 0, []byte{1, 2, 3}),
		b.s.CopyFromPeer(b.p, peer.d, peer.p.Offset(990), 10), b.s.CopyToHost(copied, b.p), b.s.CopyFromPeer(0, wrapped{peer.d}, 0, 0),
		b.s.Record(b.e), b.s2.Wait(b.e), b.s.Record(e2), b.e.Synchronize(), b.s.Synchronize(),
	)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "hell!" || string(copied) != "pppppppppp" {
		t.Errorf("copied %q, %q from a peer", got, copied)
	}
	if ms := must(e2.ElapsedSince(b.e)); ms != 1 {
		t.Errorf("%g ms", ms)
	}
	g := b.graph()
	err = errors.Join(b.s2.LaunchGraph(g), b.s2.LaunchGraph(g),
		b.s.BeginCapture(), b.s.Record(b.e), b.s.Wait(b.e), b.s2.Synchronize())
	if err != nil {
		t.Fatal(err)
	}
	g2 := must(b.s.EndCapture())
	if err := errors.Join(g.Destroy(), g2.Destroy(), e2.Destroy(), b.close(), peer.close()); err != nil {
		t.Error(err)
	}
}

// wrapped is a device of a test around a checked one.
type wrapped struct{ driver.Device }

func (w wrapped) Unwrap() driver.Device { return w.Device }

// TestRefuses breaks one rule at a time: the call fails with what it names,
// and so does Close, where the error of the call may have been dropped.
func TestRefuses(t *testing.T) {
	one, warp := dim(1, 1, 1), dim(32, 1, 1)
	none := bytesOf(&testArgs{})
	other := newBench()
	cases := []struct {
		name string
		do   func(b *bench) error
		want string
	}{
		{"copy past the end", func(b *bench) error { return b.s.CopyToDevice(b.p.Offset(996), make([]byte, 5)) }, "do not lie in one allocation"},
		{"copy before the start", func(b *bench) error { return b.s.CopyToHost(make([]byte, 4), b.p-1) }, "do not lie in one allocation"},
		{"copy to nowhere", func(b *bench) error { return b.s.CopyToDevice(0, make([]byte, 4)) }, "do not lie in one allocation"},
		{"copy from nowhere", func(b *bench) error { return b.s.CopyOnDevice(b.p, 64, 4) }, "CopyOnDevice from"},
		{"overlapping copy", func(b *bench) error { return b.s.CopyOnDevice(b.p, b.p.Offset(3), 4) }, "overlap"},
		{"copy from itself", func(b *bench) error { return b.s.CopyFromPeer(b.p, b.d, b.p, 1) }, "no other checked device"},
		{"copy from no peer", func(b *bench) error { return b.s.CopyFromPeer(b.p, newMemory(), b.p, 1) }, "no other checked device"},
		{"copy from a peer past the end", func(b *bench) error { return b.s.CopyFromPeer(b.p.Offset(999), other.d, other.p, 2) }, "CopyFromPeer to"},
		{"memset past the end", func(b *bench) error { return b.s.Memset(b.p, 0, 1001) }, "do not lie in one allocation"},
		{"negative memset", func(b *bench) error { return b.s.Memset(b.p, 0, -1) }, "do not lie in one allocation"},
		{"use after free", func(b *bench) error { must(0, b.d.Free(b.p)); return b.s.Memset(b.p, 0, 1) }, "do not lie in one allocation"},
		{"double free", func(b *bench) error { must(0, b.d.Free(b.p)); return b.d.Free(b.p) }, "freed twice"},
		{"free of nothing", func(b *bench) error { return b.d.Free(0) }, "not allocated"},
		{"free of the middle", func(b *bench) error { return b.d.Free(b.p.Offset(256)) }, "256 bytes inside"},
		{"no bytes", func(b *bench) error { _, err := b.d.Alloc(0); return err }, "Alloc of 0 bytes"},
		{"no host bytes", func(b *bench) error { _, err := b.d.AllocHost(-1); return err }, "AllocHost of -1 bytes"},
		{"double free of host memory", func(b *bench) error { must(0, b.host.Free()); return b.host.Free() }, "freed twice"},

		{"argument in freed memory", func(b *bench) error { must(0, b.d.Free(b.p)); return b.launch(b.p) }, "argument In"},
		{"argument past the end", func(b *bench) error { return b.launch(b.p.Offset(1000)) }, "argument In"},
		{"argument in an array", func(b *bench) error {
			a := testArgs{In: b.p}
			a.Table[1].At = 12345
			return b.s.Launch(b.f, one, warp, 0, bytesOf(&a))
		}, "argument Table.At = 0x3039"},
		{"too few arguments", func(b *bench) error { return b.s.Launch(b.f, one, warp, 0, none[8:]) }, "its struct has 56"},
		{"empty grid", func(b *bench) error { return b.s.Launch(b.f, dim(1, 0, 1), warp, 0, none) }, "grid {1 0 1}"},
		{"high grid", func(b *bench) error { return b.s.Launch(b.f, dim(1, 65536, 1), warp, 0, none) }, "65535"},
		{"empty block", func(b *bench) error { return b.s.Launch(b.f, one, dim(32, 1, 0), 0, none) }, "block {32 1 0}"},
		{"block larger than the kernel takes", func(b *bench) error { return b.s.Launch(b.f, one, dim(257, 1, 1), 0, none) }, "1 to 256 threads"},
		{"deep block", func(b *bench) error { return b.s.Launch(b.f, one, dim(1, 1, 65), 0, none) }, "z to 64"},
		{"shared memory not asked for", func(b *bench) error { return b.s.Launch(b.f, one, warp, 48<<10+1, none) }, "SetMaxShared allowed 49152"},
		{"shared memory past the device's", func(b *bench) error { return b.s.Launch(b.f, one, warp, 100<<10+1, none) }, "the device has 102400"},
		{"SetMaxShared past the device's", func(b *bench) error { return b.f.SetMaxShared(100<<10 + 1) }, "the device has 102400"},
		{"kernel of another device", func(b *bench) error { return b.s.Launch(other.f, one, warp, 0, none) }, "another device"},
		{"kernel of no checked device", func(b *bench) error { return b.s.Launch(memoryFunction("f"), one, warp, 0, none) }, "not of the checked device"},
		{"kernel of an unloaded module", func(b *bench) error { must(0, b.module.Unload()); return b.launch(b.p) }, "is unloaded"},
		{"function of an unloaded module", func(b *bench) error {
			must(0, b.module.Unload())
			_, err := b.module.Function("test_kernel")
			return err
		}, "after Unload"},
		{"unloaded twice", func(b *bench) error { must(0, b.module.Unload()); return b.module.Unload() }, "unloaded twice"},

		{"wait for what never was", func(b *bench) error { return b.s.Wait(b.e) }, "never recorded"},
		{"synchronise with what never was", func(b *bench) error { return b.e.Synchronize() }, "never recorded"},
		{"time since what never was", func(b *bench) error {
			e := must(b.d.NewEvent())
			must(0, b.s.Record(e))
			_, err := e.ElapsedSince(b.e)
			return err
		}, "never recorded"},
		{"event of another device", func(b *bench) error { return b.s.Record(other.e) }, "another device"},
		{"event after its end", func(b *bench) error { must(0, b.e.Destroy()); return b.s.Record(b.e) }, "after Destroy"},
		{"event destroyed twice", func(b *bench) error { must(0, b.e.Destroy()); return b.e.Destroy() }, "destroyed twice"},
		{"stream after its end", func(b *bench) error { must(0, b.s.Destroy()); return b.s.Synchronize() }, "after Destroy"},

		{"synchronise while capturing", func(b *bench) error { must(0, b.s.BeginCapture()); return b.s.Synchronize() }, "while it captures"},
		{"destroy while capturing", func(b *bench) error { must(0, b.s.BeginCapture()); return b.s.Destroy() }, "while it captures"},
		{"capture of a kernel that is new", func(b *bench) error {
			b.f = must(b.module.Function("test_kernel"))
			must(0, b.s.BeginCapture())
			return b.launch(b.p)
		}, "comes for the first time in a capture"},
		{"capture twice", func(b *bench) error { must(0, b.s.BeginCapture()); return b.s.BeginCapture() }, "which captures"},
		{"end without a beginning", func(b *bench) error { _, err := b.s.EndCapture(); return err }, "does not capture"},
		{"capture of Go's memory", func(b *bench) error {
			must(0, b.s.BeginCapture())
			return b.s.CopyToDevice(b.p, make([]byte, 8))
		}, "not of AllocHost"},
		{"capture of freed host memory", func(b *bench) error {
			bytes := b.host.Bytes()
			must(0, errors.Join(b.host.Free(), b.s.BeginCapture()))
			return b.s.CopyToHost(bytes, b.p)
		}, "not of AllocHost"},
		{"wait in a capture for an event outside", func(b *bench) error {
			must(0, errors.Join(b.s2.Record(b.e), b.s.BeginCapture()))
			return b.s.Wait(b.e)
		}, "border of a capture"},
		{"wait outside for an event of a capture", func(b *bench) error {
			must(0, errors.Join(b.s.BeginCapture(), b.s.Record(b.e)))
			return b.s2.Wait(b.e)
		}, "border of a capture"},
		{"synchronise with an event of a capture", func(b *bench) error {
			must(0, errors.Join(b.s.BeginCapture(), b.s.Record(b.e)))
			return b.e.Synchronize()
		}, "recorded in a capture"},
		{"graph over freed memory", func(b *bench) error {
			g := b.graph()
			must(0, b.d.Free(b.p))
			return b.s.LaunchGraph(g)
		}, "memory of checked_test.go"},
		{"graph over freed host memory", func(b *bench) error {
			g := b.graph()
			must(0, b.host.Free())
			return b.s.LaunchGraph(g)
		}, "which is freed"},
		{"graph of an unloaded kernel", func(b *bench) error {
			g := b.graph()
			must(0, b.module.Unload())
			return b.s.LaunchGraph(g)
		}, "kernel test_kernel, which is unloaded"},
		{"graph after its end", func(b *bench) error {
			g := b.graph()
			must(0, g.Destroy())
			return b.s.LaunchGraph(g)
		}, "after Destroy"},
		{"graph destroyed twice", func(b *bench) error {
			g := b.graph()
			must(0, g.Destroy())
			return g.Destroy()
		}, "destroyed twice"},
		{"graph of another device", func(b *bench) error { return b.s.LaunchGraph(memoryGraph{}) }, "another device"},
		{"graph in a capture", func(b *bench) error {
			g := b.graph()
			must(0, b.s.BeginCapture())
			return b.s.LaunchGraph(g)
		}, "while it captures"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench()
			err := c.do(b)
			if !errors.Is(err, ErrMisuse) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want an ErrMisuse with %q", err, c.want)
			}
			if again := b.d.Close(); err == nil || again == nil || again.Error() != err.Error() {
				t.Errorf("Close gives %v, want the misuse again", again)
			}
		})
	}
}

// TestLeaks leaves each kind of thing, and uses the device after Close.
func TestLeaks(t *testing.T) {
	b := newBench()
	g := b.graph()
	err := b.d.Close()
	var leaks *LeakError
	if !errors.As(err, &leaks) || !errors.Is(err, ErrMisuse) {
		t.Fatalf("Close gives %v, want a LeakError", err)
	}
	if len(leaks.Memory) != 2 || len(leaks.Handles) != 4 { // two streams, an event, a graph
		t.Errorf("leaks %q and %q", leaks.Memory, leaks.Handles)
	}
	for _, want := range []string{"1000 bytes of device memory of checked_test.go:", "1000 bytes of page-locked memory of checked_test.go:",
		"stream of checked_test.go:", "event of checked_test.go:", "graph of checked_test.go:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
	for name, err := range map[string]error{
		"Alloc": second(b.d.Alloc(1)), "AllocHost": second(b.d.AllocHost(1)), "NewStream": second(b.d.NewStream()),
		"NewEvent": second(b.d.NewEvent()), "Load": second(b.d.Load("m", nil)), "Close": b.d.Close(),
		"Synchronize": b.s.Synchronize(), "Free": b.d.Free(b.p), "Destroy": g.Destroy(),
	} {
		if !errors.Is(err, ErrMisuse) || !strings.Contains(err.Error(), "after Close") {
			t.Errorf("%s after Close gives %v", name, err)
		}
	}
}

// second returns the error of a call.
func second[V any](_ V, err error) error { return err }

// TestBytesAfterFree: Bytes has no error to return.
func TestBytesAfterFree(t *testing.T) {
	b := newBench()
	must(0, b.host.Free())
	if got := b.host.Bytes(); got != nil {
		t.Errorf("%d bytes after Free", len(got))
	}
	if err := b.d.Close(); !errors.Is(err, ErrMisuse) || !strings.Contains(err.Error(), "Bytes of page-locked memory") {
		t.Errorf("Close gives %v", err)
	}
}

// TestKeepsErrors: what the device says comes through and is no misuse.
func TestKeepsErrors(t *testing.T) {
	b := newBench()
	if _, err := b.d.Alloc(1 << 30); !errors.Is(err, driver.ErrOutOfMemory) || errors.Is(err, ErrMisuse) {
		t.Errorf("too large an allocation gives %v", err)
	}
	if _, err := b.module.Function("missing"); err == nil || errors.Is(err, ErrMisuse) {
		t.Errorf("a missing kernel gives %v", err)
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
}

// TestConcurrent allocates, copies and frees from many goroutines, for the
// race detector.
func TestConcurrent(t *testing.T) {
	d := Device(&locked{memory: newMemory()})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				p := must(d.Alloc(300))
				h := must(d.AllocHost(16))
				e := must(d.NewEvent())
				s := must(d.NewStream())
				f := must(must(d.Load("m", nil)).Function("test_kernel"))
				must(f.Occupancy(1, 0))
				must(0, errors.Join(s.Record(e), s.Wait(e), s.BeginCapture(), s.Launch(f,
					dim(1, 1, 1), dim(1, 1, 1), 0, bytesOf(&testArgs{In: p}))))
				g := must(s.EndCapture())
				must(0, errors.Join(s.LaunchGraph(g), g.Destroy(), s.Destroy(), e.Destroy(), h.Free(), d.Free(p)))
			}
		})
	}
	wg.Wait()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// locked is memory for many goroutines.
type locked struct {
	sync.Mutex
	*memory
}

func (l *locked) Alloc(bytes int) (driver.Ptr, error) {
	l.Lock()
	defer l.Unlock()
	return l.memory.Alloc(bytes)
}

func (l *locked) Free(p driver.Ptr) error {
	l.Lock()
	defer l.Unlock()
	return l.memory.Free(p)
}
