package kernel

import (
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

// controlValues are values of MXCSR, control and status bits, that entries must
// restore: the default, flush to zero, and rounding down.
var controlValues = []uint64{0x1f80, 0x1f80 | 1<<15, 0x1f80 | 1<<13}

func readControl() uint64 { return uint64(readMXCSR()) }

func writeControl(v uint64) { writeMXCSR(uint32(v)) }

// hasEntry says whether this CPU can run an entry. Entries on bf16 have BF16 or
// Half in their names.
func hasEntry(name string) bool {
	if strings.HasSuffix(name, "AMX") {
		return hasAMX()
	}
	if strings.Contains(name, "BF16") || strings.Contains(name, "Half") {
		return BestTier() >= AVX512 && cpu.X86.HasAVX512BF16
	}
	return BestTier() >= AVX512 || !strings.HasSuffix(name, "AVX512")
}

// forgetBF16 hides AVX512_BF16 for the length of a test and returns the tier that would
// have used it.
func forgetBF16(t *testing.T) Tier {
	if BestTier() < AVX512 {
		t.Skip("SKIPPED: this CPU has no AVX-512")
	}
	had := cpu.X86.HasAVX512BF16
	t.Cleanup(func() { cpu.X86.HasAVX512BF16 = had })
	cpu.X86.HasAVX512BF16 = false
	if hasAMX() {
		t.Error("the AMX tier needs AVX512_BF16 for what is no tile product")
	}
	return AVX512
}
