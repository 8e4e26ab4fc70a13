package kernel

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

func TestTierNames(t *testing.T) {
	for _, tier := range []Tier{Generic, NEON, AVX2, AVX512, AMX} {
		if got, err := ParseTier(tier.String()); err != nil || got != tier {
			t.Errorf("ParseTier(%q) = %v, %v", tier, got, err)
		}
	}
	if _, err := ParseTier("mmx"); err == nil || !strings.Contains(err.Error(), "avx512") {
		t.Errorf("ParseTier(mmx): %v, want the list of names", err)
	}
	old := ActiveTier()
	for _, bad := range []Tier{-1, AMX + 1} {
		if SetTier(bad) == nil || ActiveTier() != old {
			t.Errorf("SetTier(%d) was accepted", int(bad))
		}
	}
}

// The environment decides at start: the test runs itself with each value.
func TestTierEnvironment(t *testing.T) {
	if os.Getenv("KERNEL_TIER_CHILD") == "1" {
		os.Stdout.WriteString("tier=" + ActiveTier().String() + "\n")
		os.Stdout.WriteString("best=" + BestTier().String() + "\n")
		if err := TierError(); err != nil {
			os.Stdout.WriteString("error=" + err.Error() + "\n")
		}
		return
	}
	for _, c := range []struct{ value, want, fault string }{
		{"generic", "generic", ""},
		{BestTier().String(), BestTier().String(), ""},
		{"mmx", "", TierEnv},
	} {
		cmd := selfCommand(t, "-test.run=^TestTierEnvironment$")
		cmd.Env = append(os.Environ(), "KERNEL_TIER_CHILD=1", TierEnv+"="+c.value)
		out, err := cmd.CombinedOutput()
		want := c.want
		if want == "" { // the best, which the child names: this process may be emulated
			_, rest, _ := strings.Cut(string(out), "best=")
			want, _, _ = strings.Cut(rest, "\n")
		}
		if err != nil || want == "" || !strings.Contains(string(out), "tier="+want+"\n") {
			t.Errorf("%s: %v: %s", c.value, err, out)
		}
		if got := strings.Contains(string(out), "error="); got != (c.fault != "") {
			t.Errorf("%s: error shown %v: %s", c.value, got, out)
		}
	}
}

func TestPeakGFLOPS(t *testing.T) {
	forTiers(t, func(t *testing.T) {
		for _, p := range []Precision{FP32, BF16} {
			// How fast is the machine's business: an emulated core has less than 0.1.
			if peak := PeakGFLOPS(time.Millisecond, p); !(peak > 0) || math.IsInf(peak, 0) {
				t.Errorf("%s: peak %g GFLOP/s", p, peak)
			}
		}
	})
}
