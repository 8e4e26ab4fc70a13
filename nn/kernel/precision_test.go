package kernel

import (
	"testing"
	"time"
)

// TestPrefersBF16: what is preferred is what this core does more of, in each tier.
func TestPrefersBF16(t *testing.T) {
	old := ActiveTier()
	t.Cleanup(func() {
		if err := SetTier(old); err != nil {
			t.Error(err)
		}
	})
	for _, tier := range Tiers() {
		if err := SetTier(tier); err != nil {
			t.Fatal(err)
		}
		want := tier == NEON && HasBF16() // which is not measured
		if tier >= AVX512 && HasBF16() {
			want = PeakGFLOPS(20*time.Millisecond, BF16) > PeakGFLOPS(20*time.Millisecond, FP32)
		}
		if got := PrefersBF16(); got != want {
			t.Errorf("%s: bf16 is preferred: %v, want %v", tier, got, want)
		}
	}
}
