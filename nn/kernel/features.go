package kernel

import (
	"strings"

	"golang.org/x/sys/cpu"
)

// Features lists what the CPU has of what kernels use.
func Features() string {
	have := []string{}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"AVX2", cpu.X86.HasAVX2}, {"FMA", cpu.X86.HasFMA}, {"AVX-512", cpu.X86.HasAVX512F}, {"AVX512_BF16", cpu.X86.HasAVX512BF16},
		{"AMX_BF16", cpu.X86.HasAMXBF16}, {"NEON", cpu.ARM64.HasASIMD},
	} {
		if f.has {
			have = append(have, f.name)
		}
	}
	if len(have) == 0 {
		return "no vector unit known to the kernels"
	}
	return strings.Join(have, " ")
}
