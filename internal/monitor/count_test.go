package monitor

import (
	"math"
	"testing"
)

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 nets": Count(0, "net"), "1 net": Count(int64(1), "net"), "2 training rows": Count(uint64(2), "training row"),
		"1 match": Count(1, "match"), "3 matches": Count(3, "match"), "-1 steps": Count(-1, "step"),
		"18446744073709551615 games": Count(uint64(math.MaxUint64), "game"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
