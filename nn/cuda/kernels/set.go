package kernels

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// freeShared is the dynamic shared memory that any launch may ask for, bytes;
// more must be allowed kernel by kernel.
const freeShared = 48 << 10

// leastDriver is the first version of CUDA whose driver reads the embedded PTX (7.8).
const leastDriver = 11080

// Set holds the kernels on one device. A module of them is loaded when its first
// kernel runs, which on a GPU compiles it for that GPU (the driver keeps the
// result in its own cache). Methods may be called from any goroutine.
type Set struct {
	device  driver.Device
	sources func(kernel string) []string // nil on a GPU

	mu        sync.Mutex
	modules   map[string]driver.Module
	functions map[string]*function
}

// function is a kernel, with the dynamic shared memory that it may ask for by now.
type function struct {
	driver.Function
	shared int
}

// sourced is a device that compiles the .cu files itself (internal/testing/emulated): it
// names the files, without the suffix, that may hold a kernel, likeliest first.
type sourced interface{ Sources(kernel string) []string }

// Load makes the set of a device that can run them; no module is loaded yet.
func Load(d driver.Device) (*Set, error) {
	s := &Set{device: d, sources: sourcesOf(d), modules: map[string]driver.Module{}, functions: map[string]*function{}}
	if s.sources != nil {
		return s, nil
	}
	if err := suits(d.Info()); err != nil {
		return nil, err
	}
	if _, err := index(); err != nil {
		return nil, err
	}
	return s, nil
}

// sourcesOf returns the Sources of a device that compiles, under any wrappers, or nil.
func sourcesOf(d driver.Device) func(kernel string) []string {
	if e, ok := d.(sourced); ok {
		return e.Sources
	}
	if w, ok := d.(interface{ Unwrap() driver.Device }); ok {
		return sourcesOf(w.Unwrap())
	}
	return nil
}

// suits says why a GPU cannot run the embedded PTX, or returns nil.
func suits(i driver.Info) error {
	if i.Major < 6 {
		return fmt.Errorf("%s has compute capability %d.%d: 6.0 is needed", i.Name, i.Major, i.Minor)
	}
	if i.DriverVersion < leastDriver {
		return fmt.Errorf("the driver of %s knows CUDA %d.%d: 11.8 is needed, install driver 520 or later", i.Name, i.DriverVersion/1000, i.DriverVersion%1000/10)
	}
	return nil
}

// Run puts l on a stream.
func (s *Set) Run(stream driver.Stream, l Launch) error {
	f, err := s.function(l.Kernel, l.Shared)
	if err == nil {
		err = stream.Launch(f, l.Grid, l.Block, l.Shared, l.Args)
	}
	if err != nil {
		return fmt.Errorf("kernel %s (grid %v, block %v, %d bytes shared): %w", l.Kernel, l.Grid, l.Block, l.Shared, err)
	}
	return nil
}

// Prepare makes l ready: in a capture a kernel must not come for the first time, as
// its module is loaded then.
func (s *Set) Prepare(l Launch) error {
	f, err := s.function(l.Kernel, l.Shared)
	if err != nil {
		return fmt.Errorf("kernel %s: %w", l.Kernel, err)
	}
	_, err = f.Occupancy(l.Block.X*l.Block.Y*l.Block.Z, l.Shared)
	return err
}

// Close unloads the modules; nothing of them may be running.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	for name, m := range s.modules {
		if err := m.Unload(); err != nil && first == nil {
			first = fmt.Errorf("unload kernels %s: %w", name, err)
		}
	}
	clear(s.modules)
	clear(s.functions)
	return first
}

// function finds a kernel and allows it that much shared memory.
func (s *Set) function(kernel string, shared int) (driver.Function, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.functions[kernel]
	if f == nil {
		found, err := s.find(kernel)
		if err != nil {
			return nil, err
		}
		f = &function{Function: found, shared: freeShared}
		s.functions[kernel] = f
	}
	if shared > f.shared {
		if err := f.SetMaxShared(shared); err != nil {
			return nil, err
		}
		f.shared = shared
	}
	return f.Function, nil
}

// find looks a kernel up in the modules that may have it. The error is that of the
// likeliest.
func (s *Set) find(kernel string) (driver.Function, error) {
	names, first := s.candidates(kernel)
	for i, name := range names {
		m, err := s.module(name)
		if err == nil {
			var f driver.Function
			if f, err = m.Function(kernel); err == nil {
				return f, nil
			}
		}
		if i == 0 {
			first = err
		}
	}
	return nil, first
}

// candidates names the modules that may have a kernel, likeliest first, or says why there
// is none. Where the device compiles, the embedded PTX only says where to look first: it
// may be older than the source.
func (s *Set) candidates(kernel string) ([]string, error) {
	entries, err := index()
	file := entries[kernel]
	switch {
	case s.sources != nil:
		names := s.sources(kernel)
		if likely, _, _ := strings.Cut(file, "."); slices.Contains(names, likely) {
			names = append([]string{likely}, names...)
		}
		return names, errors.New("no .cu file has it")
	case err != nil:
		return nil, err
	case file == "":
		return nil, errors.New("no such kernel in the embedded PTX")
	case strings.HasSuffix(file, halfSuffix) && s.device.Info().Major < 8:
		return nil, fmt.Errorf("needs compute capability 8.0, the device has %d.%d: use fp32", s.device.Info().Major, s.device.Info().Minor)
	}
	return []string{file}, nil
}

// module loads a module once.
func (s *Set) module(name string) (driver.Module, error) {
	if m := s.modules[name]; m != nil {
		return m, nil
	}
	var text []byte
	var err error
	if s.sources == nil {
		if text, err = ptx(name); err != nil {
			return nil, err
		}
	}
	m, err := s.device.Load(name, text)
	if err != nil {
		return nil, err
	}
	s.modules[name] = m
	return m, nil
}
