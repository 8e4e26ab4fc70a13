//go:build linux || darwin

package emulated

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// host is the runtime's library; launches of all devices go through it one by one.
var host = sync.OnceValues(func() (*library, error) {
	path, err := build(runtimeFolder+"/runtime.cc", []string{"-O3"})
	if err != nil {
		return nil, err
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	l := &library{path: path, params: new(params)}
	purego.RegisterLibFunc(&l.launch, handle, "emulated_launch")
	purego.RegisterLibFunc(&l.describe, handle, "emulated_describe")
	return l, nil
})

type library struct {
	path     string
	mu       sync.Mutex
	params   *params
	launch   func(unsafe.Pointer) int32
	describe func(kernel uintptr, argsAndThreads unsafe.Pointer)
}

// params mirrors Launch of runtime.cc, followed by the memory that it points to.
type params struct {
	kernel, args           uintptr
	shared, seed           uint64
	grid, block            [3]uint32
	message, messageLength uintptr
	fault, code, base      uint64
	other                  uint64
	profiled               uintptr
	maxProfiled            uint64
	numProfiled            uint64

	argBytes     [maxArgs / 8]uint64
	messageBytes [2048]byte
	places       [maxProfiled]profiled
}

const maxArgs = 4096 // bytes, CUDA's limit

// run runs a kernel and returns its complaint.
func (l *library) run(k *function, grid, block driver.Dim, shared int, args []byte, seed uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.params // in the heap, which does not move
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&p.argBytes)), maxArgs), args)
	clear(p.messageBytes[:])
	p.kernel, p.args = k.address, uintptr(unsafe.Pointer(&p.argBytes))
	p.shared, p.seed = uint64(shared), seed
	p.grid, p.block = triple(grid), triple(block)
	p.fault, p.code, p.base, p.other = 0, 0, 0, 0
	p.message, p.messageLength = uintptr(unsafe.Pointer(&p.messageBytes)), uintptr(len(p.messageBytes))
	p.profiled, p.maxProfiled, p.numProfiled = 0, maxProfiled, 0
	if k.d.profile != nil {
		p.profiled = uintptr(unsafe.Pointer(&p.places))
	}
	if l.launch(unsafe.Pointer(p)) == 0 {
		k.d.profile.add(k, p.places[:p.numProfiled])
		return nil
	}
	message, _, _ := bytes.Cut(p.messageBytes[:], []byte{0})
	text := string(message)
	if p.other != 0 {
		// return addresses: the call is before them
		text = strings.NewReplacer("{code}", place(k.object, p.code-1-p.base), "{other}", place(k.object, p.other-1-p.base)).Replace(text)
	} else if p.base != 0 {
		// the address is that of the instruction, or of the one after it
		if line := sourceLine(k.object, p.code-p.base); line != "" {
			text += " at " + line
		}
	}
	return &Fault{Text: text, Address: driver.Ptr(p.fault)}
}

// place is sourceLine, or words.
func place(object string, offset uint64) string {
	if line := sourceLine(object, offset); line != "" {
		return line
	}
	return "a line that addr2line does not know"
}

// Fault is what a kernel did wrong.
type Fault struct {
	Text    string
	Address driver.Ptr // that it accessed; 0: it is not that
}

func (f *Fault) Error() string { return f.Text }

func triple(d driver.Dim) [3]uint32 { return [3]uint32{uint32(d.X), uint32(d.Y), uint32(d.Z)} }

// module is a .cu file's shared object. It stays loaded to the end of the process.
type module struct {
	d      *device
	name   string
	object string // path
	handle uintptr
}

var objects sync.Map // path to handle

// Load compiles the PTX, with Options.PTX, or the .cu file called name, which may be followed
// by a dot and a variant, or be the path of a file below the folder of kernels.
func (d *device) Load(name string, ptx []byte) (driver.Module, error) {
	l, err := host()
	if err != nil {
		return nil, err
	}
	base, _, _ := strings.Cut(name, ".")
	how, link := []string{"-O2"}, []string{l.path}
	if d.races || d.profile != nil {
		how, link = append(how, checkedFlags...), append(link, "-lstdc++", "-lm", "-lc", "-lgcc")
	}
	source := filepath.Join(kernelFolder, base+".cu")
	if len(ptx) > 0 {
		if source, err = translated(name, ptx); err != nil {
			return nil, err
		}
	}
	path, err := build(source, how, link...)
	if err != nil {
		return nil, err
	}
	if h, ok := objects.Load(path); ok {
		return &module{d, name, path, h.(uintptr)}, nil
	}
	h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("load module %s: %w", name, err)
	}
	objects.Store(path, h)
	return &module{d, name, path, h}, nil
}

// Function implements driver.Module.
func (m *module) Function(name string) (driver.Function, error) {
	address, err := purego.Dlsym(m.handle, name)
	if err != nil {
		return nil, fmt.Errorf("module %s has no kernel %s: %w", m.name, name, err)
	}
	l, err := host()
	if err != nil {
		return nil, err
	}
	var sizes [2]uint64
	l.describe(address, unsafe.Pointer(&sizes))
	return &function{d: m.d, name: name, object: m.object, address: address, args: int(sizes[0]), threads: int(sizes[1]), maxShared: freeShared}, nil
}

// Unload implements driver.Module.
func (m *module) Unload() error { return nil }

const freeShared = 48 << 10 // bytes that every kernel may ask for

type function struct {
	d             *device
	name, object  string
	address       uintptr // of its emulated::Kernel
	args, threads int
	maxShared     int // guarded by d.mu
}

// Name implements driver.Function.
func (f *function) Name() string { return f.name }

// SetMaxShared implements driver.Function.
func (f *function) SetMaxShared(n int) error {
	if n > f.d.info.SharedPerCTA {
		return fmt.Errorf("kernel %s: %d bytes of shared memory, the device has %d", f.name, n, f.d.info.SharedPerCTA)
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.maxShared = max(f.maxShared, n)
	return nil
}

// Resources implements driver.Function; registers are not known.
func (f *function) Resources() (driver.Resources, error) {
	return driver.Resources{MaxThreads: f.threads}, nil
}

// Occupancy implements driver.Function, without the registers' say.
func (f *function) Occupancy(threads, shared int) (int, error) {
	if threads < 1 || threads > f.threads {
		return 0, fmt.Errorf("kernel %s: %d threads, it was compiled for 1 to %d", f.name, threads, f.threads)
	}
	const reserved = 1 << 10 // bytes of shared memory a block, from 8.0 on
	return min(32, 2048/threads, f.d.info.SharedPerSM/(shared+reserved)), nil
}

// check holds a launch against the limits of CUDA and of the kernel.
func (f *function) check(grid, block driver.Dim, shared int, args []byte) error {
	threads := block.X * block.Y * block.Z
	switch {
	case min(grid.X, grid.Y, grid.Z) < 1 || grid.X > 1<<31-1 || max(grid.Y, grid.Z) > 65535:
		return fmt.Errorf("kernel %s: grid %v", f.name, grid)
	case min(block.X, block.Y, block.Z) < 1 || max(block.X, block.Y) > 1024 || block.Z > 64 || threads > f.threads:
		return fmt.Errorf("kernel %s: block %v, it was compiled for at most %d threads", f.name, block, f.threads)
	case shared < 0 || shared > f.maxShared:
		return fmt.Errorf("kernel %s: %d bytes of shared memory, %d are allowed (SetMaxShared)", f.name, shared, f.maxShared)
	case len(args) != f.args || f.args > maxArgs:
		return fmt.Errorf("kernel %s: %d bytes of arguments, its struct has %d", f.name, len(args), f.args)
	}
	return nil
}
