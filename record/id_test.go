package record

import (
	"encoding/hex"
	"testing"
)

// The published vectors of docs/FORMATS.md.
func TestGameIDVectors(t *testing.T) {
	for _, c := range []struct {
		seed, process, ordinal uint64
		want                   string
	}{
		{0, 0, 0, "1e1960c7b3065d44deb15fdbd5b47827"},
		{7, 1, 2, "dbfd6466e5f9d493ee967364632545a8"},
		{1<<64 - 1, 3, 1 << 40, "cd6c89152069bb06ff688db408b188e1"},
	} {
		id := GameID(c.seed, c.process, c.ordinal)
		if got := hex.EncodeToString(id[:]); got != c.want {
			t.Errorf("GameID(%d, %d, %d) = %s, want %s", c.seed, c.process, c.ordinal, got, c.want)
		}
	}
}

func TestIsValidationVectors(t *testing.T) {
	zero := [16]byte{}
	count := [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	for _, c := range []struct {
		id       [16]byte
		fraction float64 // the id's place in [0,1), seven digits
	}{
		{zero, 0.8344337}, {count, 0.7430229}, {GameID(0, 0, 0), 0.2820607}, {GameID(7, 1, 2), 0.8103115},
	} {
		if IsValidation(c.id, c.fraction-1e-6) || !IsValidation(c.id, c.fraction+1e-6) {
			t.Errorf("id %x is not at %g", c.id, c.fraction)
		}
		if IsValidation(c.id, 0) || !IsValidation(c.id, 1) {
			t.Errorf("id %x: shares 0 and 1 must hold none and all", c.id)
		}
	}
}

// Five per cent of many ids is five per cent, and a larger share holds the
// smaller.
func TestIsValidationShare(t *testing.T) {
	const n = 40000
	in := 0
	for i := range uint64(n) {
		id := GameID(7, 0, i)
		if IsValidation(id, 0.05) {
			in++
			if !IsValidation(id, 0.06) {
				t.Fatalf("game %d is in 5%% but not in 6%%", i)
			}
		}
	}
	// Binomial: mean 2000, deviation 44; six of them.
	if in < 2000-264 || in > 2000+264 {
		t.Errorf("%d of %d ids, want about 2000", in, n)
	}
}
