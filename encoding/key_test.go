package encoding

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// Every single change of one input bit changes both halves, about half of
// their bits, and no two such inputs share a half.
func TestKey128Avalanche(t *testing.T) {
	m, s := encode(line(t, "", "e2e4", "e7e5", "g1f3"))
	hi0, lo0 := Key128(&m, &s)
	seen := map[uint64]bool{hi0: true, lo0: true}
	total, n := 0, 0
	check := func(what string, i int) {
		hi, lo := Key128(&m, &s)
		if seen[hi] || seen[lo] {
			t.Fatalf("%s %d: a half collides", what, i)
		}
		seen[hi], seen[lo] = true, true
		total += bits.OnesCount64(hi^hi0) + bits.OnesCount64(lo^lo0)
		n++
	}
	for i := range NumMasks * 64 {
		m[i/64] ^= 1 << (i % 64)
		check("mask bit", i)
		m[i/64] ^= 1 << (i % 64)
	}
	for i, p := range []*uint8{&s.OurOOO, &s.OurOO, &s.TheirOOO, &s.TheirOO, &s.BlackToMove, &s.Rule50} {
		*p ^= 1
		check("scalar", i)
		*p ^= 1
	}
	// 6662 samples of 128 fair bits have a mean of 64 with deviation 0.07; the
	// top bits of a product change less, hence the width.
	if mean := float64(total) / float64(n); mean < 56 || mean > 72 {
		t.Errorf("mean of changed bits = %.2f, want about 64", mean)
	}
}

// Swapped words, equal words and zeros are told apart.
func TestKey128Structure(t *testing.T) {
	var s Scalars
	seen := map[uint64]int{}
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 20000 {
		var m [NumMasks]uint64
		v := rng.Uint64()
		switch n % 3 {
		case 0: // one word somewhere
			m[rng.IntN(NumMasks)] = v
		case 1: // the same word at two places
			m[rng.IntN(NumMasks)] = v
			m[rng.IntN(NumMasks)] = v
		case 2: // sparse words, as pieces are
			m[rng.IntN(NumMasks)] = 1 << (v % 64)
			m[rng.IntN(NumMasks)] = 1 << (v >> 6 % 64)
			m[rng.IntN(NumMasks)] = 1 << (v >> 12 % 64)
			m[rng.IntN(NumMasks)] = v >> 18
		}
		hi, lo := Key128(&m, &s)
		for _, half := range []uint64{hi, lo} {
			if first, ok := seen[half]; ok {
				t.Fatalf("inputs %d and %d share a half", first, n)
			}
			seen[half] = n
		}
	}
}

func BenchmarkKey128(b *testing.B) {
	m, s := encode(line(b, "", "e2e4", "e7e5", "g1f3"))
	for b.Loop() {
		Key128(&m, &s)
	}
}
