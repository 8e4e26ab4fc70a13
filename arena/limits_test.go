package arena

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestClock reads clocks, and reads back what FormatClock writes.
func TestClock(t *testing.T) {
	for text, want := range map[string][2]time.Duration{
		"10+0.1": {10 * time.Second, 100 * time.Millisecond},
		"0.5":    {500 * time.Millisecond, 0},
		"1:30+1": {90 * time.Second, time.Second},
		"60+0":   {time.Minute, 0},
		"1:0.25": {60*time.Second + 250*time.Millisecond, 0},
	} {
		base, increment, err := ParseClock(text)
		if got := [2]time.Duration{base, increment}; err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "+1", "-1", "10+", "10+-1", "a", "1:2:3", "NaN", "Inf+1", "1e9", "40/10", "-1:30", "10 + 1"} {
		if base, _, err := ParseClock(text); err == nil || !strings.Contains(err.Error(), "as in 10+0.1") {
			t.Errorf("%q: %v, %v", text, base, err)
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 1000 {
		base, increment := time.Duration(1+rng.IntN(86_400_000))*time.Millisecond, time.Duration(rng.IntN(10_000))*time.Millisecond
		if b, i, err := ParseClock(FormatClock(base, increment)); err != nil || b != base || i != increment {
			t.Fatalf("%v and %v: %q reads as %v, %v, %v", base, increment, FormatClock(base, increment), b, i, err)
		}
	}
}

// TestLimits: their text, and what is refused.
func TestLimits(t *testing.T) {
	l := Limits{Nodes: 100, Depth: 3, MoveTime: 50 * time.Millisecond}
	if got := l.String(); got != "nodes=100 depth=3 movetime=50ms" {
		t.Errorf("%q", got)
	}
	if got := (Limits{Base: 10 * time.Second, Increment: 100 * time.Millisecond}).String(); got != "tc=10+0.1" {
		t.Errorf("%q", got)
	}
	if !l.Timed() || (Limits{Nodes: 3, Depth: 1, Margin: 1}).Timed() || !(Limits{Base: 1}).Timed() {
		t.Error("Timed")
	}
	for want, l := range map[string]Limits{
		"exclude each other":    {MoveTime: 1, Base: 1},
		"needs a clock":         {Increment: 1},
		"want times from 0":     {Margin: -1},
		"to 24h0m0s":            {Base: 25 * time.Hour},
		"-1 nodes":              {Nodes: -1},
		"a depth of at most 10": {Depth: 1001},
	} {
		if err := l.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", l, err, want)
		}
	}
}
