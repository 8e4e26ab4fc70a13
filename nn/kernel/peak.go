package kernel

import "time"

// PeakGFLOPS measures this core's peak in the active tier and precision p for
// about d: fused multiply-adds (two operations each) on registers only; for BF16
// products of bf16 pairs that are added to fp32 sums (four operations a pair).
// In the generic tier it is what plain Go reaches. Pin nothing, but keep the core
// otherwise idle; the figure is the best of several short runs.
func PeakGFLOPS(d time.Duration, p Precision) float64 {
	p = p.here()
	best := 0.0
	for end := time.Now().Add(d); ; {
		start := time.Now()
		flops := peakRun(p)
		if s := time.Since(start).Seconds(); s > 0 {
			best = max(best, flops/s/1e9)
		}
		if !time.Now().Before(end) {
			return best
		}
	}
}

// peakRun runs a kernel of the peak once and returns the number of operations.
func peakRun(p Precision) float64 {
	v := vectors()
	k := v.peak[p]
	switch {
	case p == BF16 && v.peakTiles != nil:
		return v.peakTiles()
	case k.kernel == nil:
		return peakGeneric()
	}
	a := peakArgs{n: uintptr(k.rounds)}
	run(k.kernel, &a)
	return float64(k.rounds * k.flops)
}

// peakGeneric runs eight independent chains of multiply-add and returns the
// number of operations.
func peakGeneric() float64 {
	const n = 20000
	a := [8]float32{1, 2, 3, 4, 5, 6, 7, 8}
	x := a[3] * 0.125
	a0, a1, a2, a3, a4, a5, a6, a7 := a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
	for range n {
		a0 = a0*x + 1
		a1 = a1*x + 1
		a2 = a2*x + 1
		a3 = a3*x + 1
		a4 = a4*x + 1
		a5 = a5*x + 1
		a6 = a6*x + 1
		a7 = a7*x + 1
	}
	// The sum is never negative: the test keeps the compiler from dropping the loop.
	if a0+a1+a2+a3+a4+a5+a6+a7 < 0 {
		return 0
	}
	return n * 8 * 2
}
