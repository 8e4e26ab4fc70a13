package nn

import (
	"math"
	"testing"
)

// Numbers with known binary16 and bfloat16 forms: IEEE 754-2008, ties to even.
func TestRounding(t *testing.T) {
	for _, c := range []struct {
		in     float64
		f16    uint16
		bf16   uint16
		reason string
	}{
		{1, 0x3c00, 0x3f80, "one"},
		{-2, 0xc000, 0xc000, "minus two"},
		{65504, 0x7bff, 0x4780, "the greatest binary16"},
		{65519.996, 0x7bff, 0x4780, "just below the first infinity"},
		{65520, 0x7c00, 0x4780, "the first infinity"},
		{-1e30, 0xfc00, 0xf14a, "far beyond"},
		{1.0 / (1 << 14), 0x0400, 0x3880, "the least normal number"},
		{1.0 / (1 << 24), 0x0001, 0x3380, "the least subnormal number"},
		{1.0 / (1 << 25), 0x0000, 0x3300, "half of it: a tie"},
		{3.0 / (1 << 25), 0x0002, 0x33c0, "a tie to even"},
		{0.99999 / (1 << 14), 0x0400, 0x3880, "rounds up into the normal numbers"},
		{1 + 1.0/2048, 0x3c00, 0x3f80, "a tie down to even"},
		{1 + 3.0/2048, 0x3c02, 0x3f80, "a tie up to even"},
		{2 - 1.0/4096, 0x4000, 0x4000, "a carry into the exponent"},
		{1 + 1.0/256, 0x3c04, 0x3f80, "bfloat16: a tie down to even"},
		{1 + 3.0/256, 0x3c0c, 0x3f82, "bfloat16: a tie up to even"},
		{math.Copysign(0, -1), 0x8000, 0x8000, "minus zero"},
	} {
		if got := ToFloat16(float32(c.in)); got != c.f16 {
			t.Errorf("%s: binary16 of %v is %#04x, want %#04x", c.reason, c.in, got, c.f16)
		}
		if got := ToBFloat16(float32(c.in)); got != c.bf16 {
			t.Errorf("%s: bfloat16 of %v is %#04x, want %#04x", c.reason, c.in, got, c.bf16)
		}
	}
}

// TestHalvesKeep: every finite 16-bit number stands for itself, and half way between two
// goes to the even one.
func TestHalvesKeep(t *testing.T) {
	wide := func(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
	for h := range uint16(1<<16 - 1) {
		for _, k := range []struct {
			name    string
			value   func(uint16) float32
			rounded func(float32) uint16
		}{{"binary16", Float16, ToFloat16}, {"bfloat16", wide, ToBFloat16}} {
			low, high := k.value(h), k.value(h+1)
			if low-low != 0 {
				continue
			}
			if got := k.rounded(low); got != h {
				t.Fatalf("%s %#04x, %v, becomes %#04x", k.name, h, low, got)
			}
			if even := h + h&1; high-high == 0 && h != 0x7fff && k.rounded(low/2+high/2) != even {
				t.Fatalf("%s: half way above %#04x goes to %#04x, want %#04x", k.name, h, k.rounded(low/2+high/2), even)
			}
		}
	}
}
