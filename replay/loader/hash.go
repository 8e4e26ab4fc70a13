package loader

import "math"

// FNV-1a, 64 bits.
const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// ChunkHash names chunk index of the source with the given key, and decides the
// split: the FNV-1a hash (64 bits) of the key's bytes, a zero byte, and the
// index as 8 bytes little-endian, through the finisher of SplitMix64. It is
// published (docs/LOADER.md) and never changes.
func ChunkHash(key string, index int) uint64 {
	h := uint64(fnvOffset)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * fnvPrime
	}
	h *= fnvPrime // the zero byte
	for i := range 8 {
		h = (h ^ uint64(index)>>(8*i)&0xff) * fnvPrime
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// splitOf returns which of the shares a chunk falls into: the first whose
// running sum of weights, divided by the whole sum, is above hash / 2^64.
// Weights are finite, >= 0, and not all 0.
func splitOf(hash uint64, weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	u := float64(hash>>11) / (1 << 53) // exact, below 1
	running, last := 0.0, 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		running += w
		last = i
		if u < running/sum {
			return i
		}
	}
	return last // the sums' rounding
}

// validWeights says whether splitOf can use them.
func validWeights(weights []float64) bool {
	sum := 0.0
	for _, w := range weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return false
		}
		sum += w
	}
	return sum > 0 && !math.IsInf(sum, 0)
}
