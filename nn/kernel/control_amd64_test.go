package kernel

import (
	"strings"

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
