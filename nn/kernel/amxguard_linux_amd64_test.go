package kernel

import "testing"

// No tile is read or written outside the slices, at either end.
func TestTilesStayInBounds(t *testing.T) {
	needTiles(t)
	rng := newRand(t)
	for _, rows := range []int{4, 16, 20, 32, 44} {
		for _, k := range []int{8, 24, 32} {
			for _, low := range []bool{false, true} {
				panels := 1 + rng.IntN(2)
				c := newTileCase(rng, 2, rows, k, panels, rng.integers, func(n int) []float32 {
					return guarded(t, rng, n, low)
				})
				pointAMX(&c.pointArgs, panels)
				c.check(t, 0)
			}
		}
	}
}
