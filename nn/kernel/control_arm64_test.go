package kernel

import (
	"strings"
	"testing"
)

// controlValues are values of FPCR that entries must restore: the default, flush
// to zero, and rounding down.
var controlValues = []uint64{0, 1 << 24, 2 << 22}

func readControl() uint64 { return readFPCR() }

func writeControl(v uint64) { writeFPCR(v) }

// hasEntry says whether this CPU can run an entry. Entries on bf16 have BF16 or
// Half in their names.
func hasEntry(name string) bool {
	return hasArmBF16 || !strings.Contains(name, "BF16") && !strings.Contains(name, "Half")
}

// forgetBF16 hides FEAT_BF16 for the length of a test and returns the tier that would
// have used it.
func forgetBF16(t *testing.T) Tier {
	had := hasArmBF16
	t.Cleanup(func() { hasArmBF16 = had })
	hasArmBF16 = false
	return NEON
}
