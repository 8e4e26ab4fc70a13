//go:build !amd64 && !arm64

package kernel

// Without assembly only the generic tier exists.
const (
	bestTier      = Generic
	slowestVector = bestTier + 1
	maxCallMACs   = 1 << 20 // not used, as the next
	maxCallFloats = 16 << 10
)

// hasArmBF16 is FEAT_BF16 of arm64.
const hasArmBF16 = false

// multipliesBF16 says whether a tier has bf16 products on this CPU.
func multipliesBF16(Tier) bool { return false }

var tables = [...]*assembly{Generic: {}}
