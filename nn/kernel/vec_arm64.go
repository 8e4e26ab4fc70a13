package kernel

// Every arm64 CPU that Go runs on has Advanced SIMD (NEON).
const (
	slowestVector = NEON
	bestTier      = NEON
)

// Limits on the work of one assembly call, which cannot be preempted: some
// 0.1 ms at 16 GFLOP/s, which small cores reach, and 16 Ki floats of an
// element-wise pass.
const (
	maxCallMACs   = 1 << 20
	maxCallFloats = 16 << 10
)

func hasBF16() bool { return false }

// peakRun runs the peak kernel once, some 20 microseconds.
func peakRun(Precision) float64 {
	if ActiveTier() != NEON {
		return peakGeneric()
	}
	const rounds, chains, flops, lanes = 5000, 24, 2, 4
	a := peakArgs{n: rounds}
	peakNEON(bytesOf(&a))
	return rounds * chains * flops * lanes
}
