//go:build !amd64 && !arm64

package kernel

// Without assembly only the generic tier exists.
const (
	bestTier      = Generic
	slowestVector = bestTier + 1
	maxCallMACs   = 1 << 20 // not used, as the next
	maxCallFloats = 16 << 10
)

var tables = [...]*assembly{Generic: {}}
