package loader

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// The published vectors of docs/LOADER.md. They never change.
func TestChunkHashVectors(t *testing.T) {
	for _, c := range []struct {
		key   string
		index int
		want  uint64
	}{
		{"", 0, 0xffb6eec3623eee72},
		{"a.tar", 0, 0x5f3dab010e4e6b6f},
		{"a.tar", 1, 0x5cc89911f60c5cf6},
		{"a.tar", 65536, 0x3a8c504b7e808a48},
		{"sub/training-run1-20240101-0017.tar", 9999, 0xe5bf17404f34a937},
		{"é.games", 3, 0x5dca4650fc6ed36d},
	} {
		if got := ChunkHash(c.key, c.index); got != c.want {
			t.Errorf("ChunkHash(%q, %d) = %#016x, want %#016x", c.key, c.index, got, c.want)
		}
	}
}

// The same from the standard library's FNV-1a.
func TestChunkHashReference(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 2))
	for range 1000 {
		key := make([]byte, rng.IntN(40))
		for i := range key {
			key[i] = byte(rng.Uint32())
		}
		index := int(rng.Uint32())
		h := fnv.New64a()
		h.Write(key)
		h.Write(binary.LittleEndian.AppendUint64([]byte{0}, uint64(index)))
		x := h.Sum64()
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
		if got := ChunkHash(string(key), index); got != x {
			t.Fatalf("seed %d: %q %d: %#x, want %#x", seed, key, index, got, x)
		}
	}
}

func TestSplitOf(t *testing.T) {
	for _, c := range []struct {
		hash    uint64
		weights []float64
		want    int
	}{
		{0, []float64{1, 1}, 0}, {1<<63 - 1, []float64{1, 1}, 0}, {1 << 63, []float64{1, 1}, 1}, {math.MaxUint64, []float64{1, 1}, 1},
		{0, []float64{0, 1}, 1}, {math.MaxUint64, []float64{1, 0}, 0}, {math.MaxUint64, []float64{.1, .2, .7}, 2},
		{3 << 62, []float64{3, 1}, 1}, {3<<62 - 1<<20, []float64{3, 1}, 0},
	} {
		if got := splitOf(c.hash, c.weights); got != c.want {
			t.Errorf("splitOf(%#x, %v) = %d, want %d", c.hash, c.weights, got, c.want)
		}
	}
}

// Shares come out as the weights say. The hashes are fixed, so this is a fact:
// within 4 standard deviations of the binomial for these 40 000 chunks.
func TestSplitShares(t *testing.T) {
	weights := []float64{0.9, 0.07, 0.03}
	counts := make([]float64, len(weights))
	const n = 40000
	for i := range n {
		counts[splitOf(ChunkHash("file.tar", i), weights)]++
	}
	for i, w := range weights {
		if limit := 4 * math.Sqrt(n*w*(1-w)); math.Abs(counts[i]-n*w) > limit {
			t.Errorf("share %d has %v of %d chunks, want %v +- %.0f", i, counts[i], n, n*w, limit)
		}
	}
}

func TestValidWeights(t *testing.T) {
	for _, c := range []struct {
		weights []float64
		want    bool
	}{
		{[]float64{1, 0}, true}, {[]float64{0, 0}, false}, {[]float64{-1, 2}, false}, {[]float64{math.NaN(), 1}, false},
		{[]float64{math.Inf(1), 1}, false}, {[]float64{math.MaxFloat64, math.MaxFloat64}, false},
	} {
		if got := validWeights(c.weights); got != c.want {
			t.Errorf("%v: %v", c.weights, got)
		}
	}
}
