package checked

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// Limits of every device from compute capability 6.0 on.
const (
	maxThreads    = 1024 // a block
	maxBlockZ     = 64
	maxGridX      = 1<<31 - 1
	maxGridYZ     = 65535
	defaultShared = 48 << 10 // bytes of dynamic shared memory without SetMaxShared
)

// arguments are the functions given to RegisterArguments.
var arguments []func(kernel string) reflect.Type

// RegisterArguments tells Device the argument structs of kernels: structOf returns
// nil for a kernel that it does not know. For init functions.
func RegisterArguments(structOf func(kernel string) reflect.Type) {
	arguments = append(arguments, structOf)
}

// signature says where in a kernel's arguments pointers lie.
type signature struct {
	size     int
	pointers []pointerField
}

type pointerField struct {
	name   string
	offset int
}

// signatureOf returns the signature of a kernel, or nil.
func signatureOf(kernel string) *signature {
	for _, structOf := range arguments {
		if t := structOf(kernel); t != nil {
			return &signature{int(t.Size()), pointersOf(t, "", 0, nil)}
		}
	}
	return nil
}

// pointersOf appends the fields of type Ptr within a value of type t at offset.
func pointersOf(t reflect.Type, name string, offset int, to []pointerField) []pointerField {
	switch {
	case t == reflect.TypeFor[driver.Ptr]():
		return append(to, pointerField{name, offset})
	case t.Kind() == reflect.Array:
		for i := range t.Len() {
			to = pointersOf(t.Elem(), name, offset+i*int(t.Elem().Size()), to)
		}
	case t.Kind() == reflect.Struct:
		for f := range t.Fields() {
			to = pointersOf(f.Type, strings.TrimPrefix(name+"."+f.Name, "."), offset+int(f.Offset), to)
		}
	}
	return to
}

// checkedModule is loaded code.
type checkedModule struct {
	device   *checked
	inner    driver.Module
	name     string
	unloaded bool
}

func (c *checked) Load(name string, ptx []byte) (driver.Module, error) {
	if err := c.check("Load", nil); err != nil {
		return nil, err
	}
	m, err := c.inner.Load(name, ptx)
	if err != nil {
		return nil, err
	}
	return &checkedModule{device: c, inner: m, name: name}, nil
}

func (m *checkedModule) Function(name string) (driver.Function, error) {
	err := m.device.check("Function", func() error {
		if m.unloaded {
			return m.device.misuse("Function of module %s after Unload", m.name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f, err := m.inner.Function(name)
	if err != nil {
		return nil, err
	}
	r, err := f.Resources()
	if err != nil {
		return nil, err
	}
	return &checkedFunction{Function: f, module: m, signature: signatureOf(name), resources: r, shared: defaultShared}, nil
}

func (m *checkedModule) Unload() error {
	err := m.device.check("Unload", func() error {
		if m.unloaded {
			return m.device.misuse("module %s unloaded twice", m.name)
		}
		m.unloaded = true
		return nil
	})
	if err != nil {
		return err
	}
	return m.inner.Unload()
}

// checkedFunction is a kernel.
type checkedFunction struct {
	driver.Function
	module    *checkedModule
	signature *signature // nil: not known
	resources driver.Resources
	shared    int // bytes that a launch may ask for
	ready     bool
}

// Occupancy makes the kernel ready to be captured.
func (f *checkedFunction) Occupancy(threads, shared int) (int, error) {
	err := f.module.device.check("Occupancy", func() error {
		f.ready = true
		return nil
	})
	if err != nil {
		return 0, err
	}
	return f.Function.Occupancy(threads, shared)
}

func (f *checkedFunction) SetMaxShared(bytes int) error {
	c := f.module.device
	err := c.check("SetMaxShared", func() error {
		if limit := c.inner.Info().SharedPerCTA; bytes < 0 || bytes > limit {
			return c.misuse("kernel %s: SetMaxShared of %d bytes, the device has %d a block", f.Name(), bytes, limit)
		}
		f.shared = max(bytes, defaultShared)
		return nil
	})
	if err != nil {
		return err
	}
	return f.Function.SetMaxShared(bytes)
}

// launchable checks a launch and returns the memory that its arguments point to.
// The lock is held.
func (c *checked) launchable(f *checkedFunction, grid, block driver.Dim, shared int, args []byte) ([]*span, error) {
	name := f.Name()
	threads := block.X * block.Y * block.Z
	limit := maxThreads
	if f.resources.MaxThreads > 0 {
		limit = f.resources.MaxThreads
	}
	switch {
	case f.module.device != c:
		return nil, c.misuse("kernel %s belongs to another device", name)
	case f.module.unloaded:
		return nil, c.misuse("kernel %s: module %s is unloaded", name, f.module.name)
	case grid.X < 1 || grid.Y < 1 || grid.Z < 1 || grid.X > maxGridX || grid.Y > maxGridYZ || grid.Z > maxGridYZ:
		return nil, c.misuse("kernel %s: grid %v: sides are 1 to %d, %d and %d", name, grid, maxGridX, maxGridYZ, maxGridYZ)
	case block.X < 1 || block.Y < 1 || block.Z < 1 || block.Z > maxBlockZ || threads > limit:
		return nil, c.misuse("kernel %s: block %v: the kernel takes 1 to %d threads, z to %d", name, block, limit, maxBlockZ)
	case shared < 0 || shared > c.inner.Info().SharedPerCTA:
		return nil, c.misuse("kernel %s: %d bytes of shared memory, the device has %d a block", name, shared, c.inner.Info().SharedPerCTA)
	case shared > f.shared:
		return nil, c.misuse("kernel %s: %d bytes of shared memory, SetMaxShared allowed %d", name, shared, f.shared)
	case f.signature != nil && len(args) != f.signature.size:
		return nil, c.misuse("kernel %s: %d bytes of arguments, its struct has %d", name, len(args), f.signature.size)
	case f.signature == nil:
		return nil, nil
	}
	var used []*span
	for _, p := range f.signature.pointers {
		at := binary.NativeEndian.Uint64(args[p.offset:])
		if at == 0 {
			continue
		}
		s := find(c.memory, at, 1)
		if s == nil {
			return nil, c.misuse("kernel %s: argument %s = %#x is not in allocated memory", name, p.name, at)
		}
		if !slices.Contains(used, s) {
			used = append(used, s)
		}
	}
	return used, nil
}
