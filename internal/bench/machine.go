package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

var loadFile = "/proc/loadavg" // Linux's

// Missing lists what would make this machine better for training.
func Missing() []string {
	var lines []string
	if runtime.GOMAXPROCS(0) < 2 {
		lines = append(lines, "a second core: producers and trainer share one")
	}
	if kernel.BestTier() == kernel.Generic {
		lines = append(lines, "a vector unit that the kernels know (AVX2): plain Go is several times slower")
	}
	var load float64
	text, _ := os.ReadFile(loadFile)
	if fmt.Sscan(string(text), &load); 2*load > float64(runtime.NumCPU()) {
		lines = append(lines, fmt.Sprintf("idle CPUs: in the last minute the load was %.1f on %d; the speeds that are measured now are too low", load, runtime.NumCPU()))
	}
	if _, free, ok := Memory(); ok && free < 1 {
		lines = append(lines, "memory: less than 1 GiB is free; take a smaller --replay-size")
	}
	if disk, err := fsx.OS.Space("."); err == nil && disk.Free < 1<<30 {
		lines = append(lines, "disk space: less than 1 GiB may be used here")
	}
	if len(lines) == 0 {
		return []string{"nothing"}
	}
	return lines
}

// CPUName reads the processor's name where the system tells it.
func CPUName() string {
	return firstField("/proc/cpuinfo", "model name", "unknown processor")
}

// Memory returns the total and available memory in GiB.
func Memory() (total, free float64, ok bool) {
	var t, f float64
	_, err1 := fmt.Sscanf(firstField("/proc/meminfo", "MemTotal", ""), "%f", &t)
	_, err2 := fmt.Sscanf(firstField("/proc/meminfo", "MemAvailable", ""), "%f", &f)
	return t / (1 << 20), f / (1 << 20), err1 == nil && err2 == nil
}

// firstField returns the value of the first "key : value" line of a file.
func firstField(path, key, without string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return without
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return without
}
