package kernel

import "golang.org/x/sys/cpu"

const slowestVector = AVX2

// bestTier is the fastest tier of this CPU; x/sys/cpu also checks that the
// operating system saves the registers.
var bestTier = func() Tier {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512VL && x.HasAVX512BW && x.HasAVX512DQ && x.HasFMA:
		if hasAMX() {
			return AMX
		}
		return AVX512
	case x.HasAVX2 && x.HasFMA:
		return AVX2
	}
	return Generic
}()

// Limits on the work of one assembly call, which cannot be preempted: some
// 0.1 ms at 100 GFLOP/s, and 64 Ki floats of an element-wise pass.
const (
	maxCallMACs   = 4 << 20
	maxCallFloats = 64 << 10
)

// wide says whether the vector registers are those of AVX-512.
func wide() bool { return ActiveTier() >= AVX512 }

func hasBF16() bool { return wide() && cpu.X86.HasAVX512BF16 }

// peakRun runs a peak kernel once, some 20 microseconds.
func peakRun(p Precision) float64 {
	const rounds, chains, flops = 10000, 12, 2
	a := peakArgs{n: rounds}
	switch t := ActiveTier(); {
	case t == Generic:
		return peakGeneric()
	case t == AVX2:
		peakAVX2(bytesOf(&a))
		return rounds * chains * flops * 8
	case t == AMX && p == BF16:
		return peakTiles()
	case p == BF16: // 24 chains of products of 16 pairs
		a.n = rounds / 2
		peakBF16AVX512(bytesOf(&a))
		return rounds / 2 * 24 * flops * 32
	}
	peakAVX512(bytesOf(&a))
	return rounds * chains * flops * 16
}

// peakTiles runs the tile kernel of the peak once, some 20 microseconds.
func peakTiles() float64 {
	const steps, products, flops = 1000, 4, 2
	config := newTileConfig(blockRows, tileRows16)
	t := tileArgs{config: bytesOf(&config), steps: steps}
	peakAMX(bytesOf(&t))
	return steps * products * flops * (tileRows16 * tileRows16 * 2 * tileRows16)
}
