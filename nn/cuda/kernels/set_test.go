package kernels

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// fake is a device that notes what a Set asks of it. Methods that a Set has no
// business with are those of the nil Device, and panic.
type fake struct {
	driver.Device
	info     driver.Info
	loadFail error

	mu  sync.Mutex
	log []string
}

func (f *fake) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, what)
}

func (f *fake) Info() driver.Info { return f.info }

func (f *fake) Load(name string, ptx []byte) (driver.Module, error) {
	f.note("load " + name)
	if f.loadFail != nil {
		return nil, f.loadFail
	}
	return &fakeModule{f, name, string(ptx)}, nil
}

type fakeModule struct {
	f         *fake
	name, ptx string
}

func (m *fakeModule) Function(name string) (driver.Function, error) {
	if !strings.Contains(m.ptx, ".entry "+name+"(") {
		return nil, errors.New("not in " + m.name)
	}
	return &fakeFunction{f: m.f, name: name}, nil
}
func (m *fakeModule) Unload() error { m.f.note("unload " + m.name); return nil }

type fakeFunction struct {
	f    *fake
	name string
}

func (f *fakeFunction) Name() string { return f.name }
func (f *fakeFunction) SetMaxShared(bytes int) error {
	f.f.note("shared " + f.name)
	if bytes > 100<<10 {
		return errors.New("too much")
	}
	return nil
}
func (f *fakeFunction) Resources() (driver.Resources, error) {
	return driver.Resources{Registers: 40}, nil
}
func (f *fakeFunction) Occupancy(threads, shared int) (int, error) { return 2048 / threads, nil }

// fakeStream notes launches.
type fakeStream struct {
	driver.Stream
	f *fake
}

func (s fakeStream) Launch(f driver.Function, grid, block driver.Dim, shared int, args []byte) error {
	s.f.note("launch " + f.Name())
	if len(args) == 0 {
		return errors.New("refused")
	}
	return nil
}

// launchOf is a launch with some arguments.
func launchOf(kernel string, shared int) Launch {
	return Launch{Kernel: kernel, Grid: driver.Dim{X: 1, Y: 1, Z: 1}, Block: driver.Dim{X: 128, Y: 2, Z: 1}, Shared: shared, Args: []byte{0}}
}

// TestSetIsLazy: a module is loaded for its first kernel, once, and shared memory
// beyond what is free is asked for once a size.
func TestSetIsLazy(t *testing.T) {
	f := &fake{info: driver.Info{DriverVersion: 12020, Major: 8}}
	k, err := Load(f)
	if err != nil {
		t.Fatal(err)
	}
	s := fakeStream{f: f}
	for _, l := range []Launch{
		launchOf("sgd", 0), launchOf("adamw", 48<<10), launchOf("policy_loss_bf16", 60<<10), launchOf("policy_loss_bf16", 50<<10),
		launchOf("policy_loss_fp16", 0), launchOf("policy_loss_bf16", 61<<10),
	} {
		if err := k.Run(s, l); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Prepare(launchOf("sgd", 0)); err != nil {
		t.Error(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"load update.f32", "launch sgd", "launch adamw",
		"load loss.half", "shared policy_loss_bf16", "launch policy_loss_bf16", "launch policy_loss_bf16",
		"launch policy_loss_fp16", "shared policy_loss_bf16", "launch policy_loss_bf16",
	}
	last := f.log[len(f.log)-2:]
	slices.Sort(last) // of a map
	if want = append(want, "unload loss.half", "unload update.f32"); !slices.Equal(f.log, want) {
		t.Errorf("the device saw %q\nwant %q", f.log, want)
	}
}

// TestSetErrors: an error names the kernel and what stood in the way.
func TestSetErrors(t *testing.T) {
	broken := errors.New("bad image")
	refused := launchOf("sgd", 0)
	refused.Args = nil
	for _, c := range []struct {
		device *fake
		launch Launch
		want   string
	}{
		{&fake{info: driver.Info{DriverVersion: 12020, Major: 9}}, launchOf("nobody", 0), "kernel nobody (grid {1 1 1}, block {128 2 1}, 0 bytes shared): no such kernel"},
		{&fake{info: driver.Info{DriverVersion: 12020, Major: 6, Minor: 1}}, launchOf("policy_loss_bf16", 0), "needs compute capability 8.0, the device has 6.1: use fp32"},
		{&fake{info: driver.Info{DriverVersion: 12020, Major: 9}, loadFail: broken}, launchOf("sgd", 0), "kernel sgd"},
		{&fake{info: driver.Info{DriverVersion: 12020, Major: 9}}, launchOf("sgd", 101<<10), "too much"},
		{&fake{info: driver.Info{DriverVersion: 12020, Major: 9}}, refused, "kernel sgd (grid {1 1 1}, block {128 2 1}, 0 bytes shared): refused"},
	} {
		k, err := Load(c.device)
		if err != nil {
			t.Fatal(err)
		}
		err = k.Run(fakeStream{f: c.device}, c.launch)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.device.loadFail != nil && !errors.Is(err, broken) {
			t.Errorf("%s: %v, want %q", c.launch.Kernel, err, c.want)
		}
	}
	k, err := Load(&fake{info: driver.Info{Major: 6, DriverVersion: 11080}})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Prepare(launchOf("nobody", 0)); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("no kernel is ready: %v", err)
	}
}

// TestSetRefuses: a GPU that cannot run the PTX is refused with what it lacks.
func TestSetRefuses(t *testing.T) {
	for want, info := range map[string]driver.Info{
		"GTX has compute capability 5.2: 6.0 is needed":       {Name: "GTX", Major: 5, Minor: 2, DriverVersion: 12020},
		"knows CUDA 11.7: 11.8 is needed, install driver 520": {Name: "H100", Major: 9, DriverVersion: 11070},
	} {
		if _, err := Load(&fake{info: info}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", info, err, want)
		}
	}
}

// compiling is a device that compiles .cu files itself, under a wrapper.
type compiling struct {
	fake
	order []string
	has   map[string]string // file of a kernel
}

func (c *compiling) Sources(kernel string) []string { return c.order }

func (c *compiling) Load(name string, ptx []byte) (driver.Module, error) {
	c.note("load " + name)
	if ptx != nil || name == "broken" {
		return nil, errors.New("does not compile: " + name)
	}
	text := ""
	for kernel, file := range c.has {
		if file == name {
			text += ".entry " + kernel + "("
		}
	}
	return &fakeModule{&c.fake, name, text}, nil
}

type wrapper struct{ driver.Device }

func (w wrapper) Unwrap() driver.Device { return w.Device }

// TestSetFindsSources: where the device compiles, embedded PTX only says where to
// look first, and what does not compile does not hide the rest.
func TestSetFindsSources(t *testing.T) {
	c := &compiling{order: []string{"broken", "other", "update"}, has: map[string]string{"fresh": "other", "sgd": "update"}}
	k, err := Load(wrapper{wrapper{c}})
	if err != nil {
		t.Fatal(err)
	}
	s := fakeStream{f: &c.fake}
	for _, kernel := range []string{"sgd", "fresh"} {
		if err := k.Run(s, launchOf(kernel, 0)); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"load update", "launch sgd", "load broken", "load other", "launch fresh"}; !slices.Equal(c.log, want) {
		t.Errorf("the device saw %q, want %q", c.log, want)
	}
	if err := k.Run(s, launchOf("nobody", 0)); err == nil || !strings.Contains(err.Error(), "does not compile: broken") {
		t.Errorf("a kernel that nobody has: %v, want the error of the likeliest file", err)
	}
}

// TestSetConcurrent runs kernels from many goroutines, for the race detector: each
// module is still loaded once.
func TestSetConcurrent(t *testing.T) {
	f := &fake{info: driver.Info{DriverVersion: 12020, Major: 9}}
	k, err := Load(f)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, kernel := range []string{"sgd", "policy_loss_f32", "adamw", "policy_loss_bf16"} {
				if err := k.Run(fakeStream{f: f}, launchOf(kernel, 50<<10)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	loads := 0
	for _, l := range f.log {
		if strings.HasPrefix(l, "load ") {
			loads++
		}
	}
	if loads != 3 {
		t.Errorf("%d loads of 3 modules", loads)
	}
}
