//go:build chessbrain_cuda

package driver

import (
	"fmt"

	"gorgonia.org/cu"
)

// module is loaded PTX, compiled for the device by the driver.
type module struct {
	gpu  *gpu
	name string
	cu   cu.Module
}

func (g *gpu) Load(name string, ptx []byte) (Module, error) {
	m := &module{gpu: g, name: name}
	err := g.do("cuModuleLoadData", func() (err error) {
		m.cu, err = cu.LoadData(string(ptx))
		if err != nil && err != cu.OutOfMemory {
			err = fmt.Errorf("%w; the driver's compiler says: %s", worded(err), jitLog(ptx))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load kernels %s on cuda:%d (%s): %w", name, g.info.Ordinal, g.info.Name, err)
	}
	return m, nil
}

func (m *module) Function(name string) (Function, error) {
	f := &function{gpu: m.gpu, name: name}
	err := m.gpu.do("cuModuleGetFunction", func() (err error) {
		f.cu, err = m.cu.Function(name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("kernel %s of module %s: %w", name, m.name, err)
	}
	return f, nil
}

func (m *module) Unload() error {
	return m.gpu.release("cuModuleUnload", m.cu.Unload)
}

// function is a kernel of a module.
type function struct {
	gpu  *gpu
	name string
	cu   cu.Function
}

func (f *function) Name() string { return f.name }

func (f *function) SetMaxShared(bytes int) error {
	return f.gpu.do("cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES)", func() error { return setMaxShared(f.cu, bytes) })
}

func (f *function) Resources() (r Resources, err error) {
	err = f.gpu.do("cuFuncGetAttribute", func() error {
		for _, a := range []struct {
			to   *int
			from cu.FunctionAttribute
		}{{&r.Registers, cu.NumRegs}, {&r.LocalBytes, cu.LocalSizeBytes}, {&r.MaxThreads, cu.FnMaxThreadsPerBlock}} {
			var err error
			if *a.to, err = f.cu.Attribute(a.from); err != nil {
				return err
			}
		}
		return nil
	})
	return r, err
}

func (f *function) Occupancy(threads, shared int) (blocks int, err error) {
	err = f.gpu.do("cuOccupancyMaxActiveBlocksPerMultiprocessor", func() (err error) {
		blocks, err = f.cu.MaxActiveBlocksPerMultiProcessor(threads, int64(shared))
		return err
	})
	return blocks, err
}
