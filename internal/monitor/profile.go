package monitor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Profiles records a CPU profile (cpu.pprof) and an execution trace
// (trace.out) into dir until stop, which adds a heap profile (heap.pprof). Look
// at them with go tool pprof and go tool trace. Traces grow by megabytes a
// second: for short runs.
func Profiles(dir string) (stop func() error, err error) {
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return nil, fmt.Errorf("make profile directory: %w", err)
	}
	stopCPU, err := CPUProfile(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		return nil, err
	}
	events, err := os.Create(filepath.Join(dir, "trace.out"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("profile: %w", err), stopCPU())
	}
	if err := trace.Start(events); err != nil {
		return nil, errors.Join(fmt.Errorf("profile: %w", err), stopCPU(), events.Close())
	}
	return func() error {
		err := stopCPU()
		trace.Stop()
		err = errors.Join(err, events.Close())
		heap, failed := os.Create(filepath.Join(dir, "heap.pprof"))
		if failed != nil {
			return errors.Join(err, fmt.Errorf("profile: %w", failed))
		}
		runtime.GC() // what is in use now
		return errors.Join(err, pprof.WriteHeapProfile(heap), heap.Close())
	}, nil
}

// CPUProfile records a CPU profile of the process into the file at path until stop.
func CPUProfile(path string) (stop func() error, err error) {
	out, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return nil, errors.Join(fmt.Errorf("profile: %w", err), out.Close())
	}
	return func() error { pprof.StopCPUProfile(); return out.Close() }, nil
}
