package kernel

import "golang.org/x/sys/cpu"

const slowestVector = AVX2

// bestTier is the fastest tier of this CPU; x/sys/cpu also checks that the
// operating system saves the registers.
var bestTier = func() Tier {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512VL && x.HasAVX512BW && x.HasAVX512DQ && x.HasFMA:
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

// peakRun runs the peak kernel once, some 20 microseconds.
func peakRun() float64 {
	const rounds, chains, flops = 10000, 12, 2
	a := peakArgs{n: rounds}
	switch ActiveTier() {
	case AVX512, AMX:
		peakAVX512(bytesOf(&a))
		return rounds * chains * flops * 16
	case AVX2:
		peakAVX2(bytesOf(&a))
		return rounds * chains * flops * 8
	}
	return peakGeneric()
}
