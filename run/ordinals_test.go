package run

import (
	"math/rand/v2"
	"testing"
)

// TestOrdinals compares the set with a map on random insertions.
func TestOrdinals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var set Ordinals
		truth := map[uint64]bool{}
		for range 60 {
			n := rng.Uint64N(40)
			if got := set.Add(n); got == truth[n] {
				t.Fatalf("Add(%d) = %v, was there: %v", n, got, truth[n])
			}
			truth[n] = true
			if set.Len() != len(truth) {
				t.Fatalf("Len %d, want %d", set.Len(), len(truth))
			}
			for k := uint64(0); k < 42; k++ {
				if set.Has(k) != truth[k] {
					t.Fatalf("Has(%d) = %v after %v", k, set.Has(k), set.Ranges)
				}
				free := k
				for truth[free] {
					free++
				}
				if set.Free(k) != free {
					t.Fatalf("Free(%d) = %d after %v", k, set.Free(k), set.Ranges)
				}
			}
			for i := 1; i < len(set.Ranges); i++ {
				if set.Ranges[i-1][1] >= set.Ranges[i][0] {
					t.Fatalf("ranges touch: %v", set.Ranges)
				}
			}
		}
	}
}
