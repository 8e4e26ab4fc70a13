package emulated

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// report is a test that a device is opened for, and what the device said of it.
type report struct {
	testing.TB
	said     []string
	cleanups []func()
}

func (r *report) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *report) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// end runs what the test left for its end and returns everything that was said.
func (r *report) end() string {
	for _, f := range r.cleanups {
		f()
	}
	return strings.Join(r.said, "\n")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wants fails unless text contains all that is wanted.
func wants(t testing.TB, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

func floats(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func firstFloat(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// primitive finds a kernel of the primitives' module.
func primitive(t testing.TB, d driver.Device, name string) driver.Function {
	t.Helper()
	m, err := d.Load("testdata/primitives", nil)
	must(t, err)
	f, err := m.Function(name)
	must(t, err)
	return f
}

func memoryArgs(in, out driver.Ptr, n, mode int) []byte {
	var b []byte
	b = binary.LittleEndian.AppendUint64(b, uint64(in))
	b = binary.LittleEndian.AppendUint64(b, uint64(out))
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	return binary.LittleEndian.AppendUint32(b, uint32(mode))
}

var one = driver.Dim{X: 1, Y: 1, Z: 1}

// What a kernel does to memory that is not its own is found.
func TestMemory(t *testing.T) {
	launch := func(t testing.TB, d driver.Device, kernel string, args []byte) error {
		s, err := d.NewStream()
		must(t, err)
		must(t, s.Launch(primitive(t, d, kernel), one, one, 0, args))
		err = s.Synchronize()
		return errors.Join(err, s.Destroy())
	}
	t.Run("freed", func(t *testing.T) {
		r := &report{TB: t}
		d := Open(r)
		p, err := d.Alloc(100)
		must(t, err)
		q, err := d.Alloc(100)
		must(t, err)
		must(t, d.Free(p))
		err = launch(t, d, "test_add", memoryArgs(p, q, 1, 0))
		wants(t, fmt.Sprint(err), "kernel test_add, block (0,0,0)", "thread 0 accesses", "byte 0 of 100 bytes that were freed", "primitives.cu:")
		r.end()
	})
	t.Run("slack", func(t *testing.T) {
		r := &report{TB: t}
		d := Open(r)
		p, err := d.Alloc(100)
		must(t, err)
		err = launch(t, d, "test_wrong", memoryArgs(p, p, 25, 7))
		wants(t, fmt.Sprint(err), "0 bytes past the end of the allocation of 100 bytes")
		must(t, d.Free(p))
		wants(t, r.end(), "0 bytes past the end of the allocation of 100 bytes")
	})
	t.Run("poison", func(t *testing.T) {
		d := Open(t)
		p, err := d.Alloc(4)
		must(t, err)
		must(t, launch(t, d, "test_add", memoryArgs(p, p, 1, 0)))
		s, err := d.NewStream()
		must(t, err)
		b := make([]byte, 4)
		must(t, s.CopyToHost(b, p))
		must(t, s.Synchronize())
		if x := firstFloat(b); x == x {
			t.Errorf("fresh memory plus 1 is %g, want NaN", x)
		}
		must(t, errors.Join(s.Destroy(), d.Free(p)))
	})
	t.Run("out of memory", func(t *testing.T) {
		d := OpenWith(t, Options{Bytes: 1000})
		p, err := d.Alloc(600)
		must(t, err)
		if _, err := d.Alloc(600); !errors.Is(err, driver.ErrOutOfMemory) {
			t.Errorf("1200 of 1000 bytes: %v", err)
		}
		if free, total, err := d.MemInfo(); free != 400 || total != 1000 || err != nil {
			t.Errorf("%d of %d bytes free (%v), want 400 of 1000", free, total, err)
		}
		must(t, d.Free(p))
		p, err = d.Alloc(1000)
		must(t, err)
		must(t, d.Free(p))
	})
}

// The end of a test tells what the test did not look at.
func TestEnd(t *testing.T) {
	r := &report{TB: t}
	d := Open(r)
	s, err := d.NewStream()
	must(t, err)
	p, err := d.Alloc(100)
	must(t, err)
	must(t, s.Launch(primitive(t, d, "test_wrong"), one, one, 0, memoryArgs(p, p, 0, 8)))
	must(t, d.Free(p))
	wants(t, r.end(), "kernel test_wrong", "accesses the address (nil)")

	r = &report{TB: t}
	d = Open(r)
	_, err = d.Alloc(123)
	must(t, err)
	wants(t, r.end(), "123 bytes of device memory")

	r = &report{TB: t}
	d = Open(r)
	must(t, d.Close())
	if said := r.end(); said != "" {
		t.Errorf("a closed device says %q", said)
	}
}

// A pretended device has that device's limits, and what cannot be built says why.
func TestLimits(t *testing.T) {
	r := &report{TB: t}
	d := OpenWith(r, Options{Major: 6})
	if i := d.Info(); i.Major != 6 || i.SharedPerCTA != 48<<10 {
		t.Errorf("compute capability 6.0: %+v", i)
	}
	f := primitive(t, d, "test_add")
	if err := f.SetMaxShared(48<<10 + 1); err == nil {
		t.Error("more shared memory than the device has was allowed")
	}
	s, err := d.NewStream()
	must(t, err)
	two := driver.Dim{X: 33, Y: 1, Z: 1}
	for what, err := range map[string]error{
		"33 threads":  s.Launch(f, one, two, 0, memoryArgs(0, 0, 0, 0)),
		"no blocks":   s.Launch(f, driver.Dim{}, one, 0, memoryArgs(0, 0, 0, 0)),
		"short args":  s.Launch(f, one, one, 0, make([]byte, 20)),
		"much shared": s.Launch(f, one, one, 49<<10, memoryArgs(0, 0, 0, 0)),
	} {
		if err == nil {
			t.Errorf("launch with %s: no error", what)
		} else {
			wants(t, err.Error(), "test_add")
		}
	}
	if _, err := d.Load("testdata/missing", nil); err == nil {
		t.Error("a module without a source was loaded")
	} else {
		wants(t, err.Error(), "testdata/missing.cu: no such file")
	}
	m, err := d.Load("testdata/primitives", nil)
	must(t, err)
	if _, err := m.Function("none"); err == nil {
		t.Error("a kernel that is not there was found")
	} else {
		wants(t, err.Error(), "has no kernel none")
	}
	n, err := OpenWith(t, Options{}).Load("testdata/primitives.half", nil)
	must(t, err)
	g, err := n.Function("test_wrong")
	must(t, err)
	for _, c := range []struct{ threads, shared, want int }{{256, 0, 8}, {32, 0, 32}, {256, 100 << 10, 2}, {256, 227 << 10, 1}} {
		if got, err := g.Occupancy(c.threads, c.shared); err != nil || got != c.want {
			t.Errorf("%d threads, %d bytes: %d blocks (%v), want %d", c.threads, c.shared, got, err, c.want)
		}
	}
	r.end()
}
