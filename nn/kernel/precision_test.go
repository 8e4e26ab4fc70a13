package kernel

import (
	"testing"
	"time"
)

// TestPrefersBF16: what is preferred is what this core does more of, in each tier.
func TestPrefersBF16(t *testing.T) {
	forTiers(t, func(t *testing.T) {
		want := HasBF16() // not measured, but for amd64's
		if ActiveTier() >= AVX512 && want {
			want = PeakGFLOPS(20*time.Millisecond, BF16) > PeakGFLOPS(20*time.Millisecond, FP32)
		}
		if got := PrefersBF16(); got != want {
			t.Errorf("bf16 is preferred: %v, want %v", got, want)
		}
	})
}
