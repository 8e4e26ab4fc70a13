package encoding

import "math/bits"

// keyLen is the number of 64-bit words hashed: the masks, the packed scalars
// and one filler.
const keyLen = NumMasks + 2

// hashKeys are the hash's fixed random words: two overlapping key sets (the
// second is the first shifted by two) and the finishers.
var hashKeys = buildHashKeys()

func buildHashKeys() (k [keyLen + 6]uint64) {
	// splitmix64 (Steele, Lea and Flood 2014) from a fixed seed.
	x := uint64(0x6368657373627261)
	for i := range k {
		x += 0x9e3779b97f4a7c15
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		k[i] = z ^ z>>31
	}
	return k
}

// Key128 returns a 128-bit hash of a network input, the key of NN caches.
// Inputs that differ anywhere have different keys but for chance (about 2^-64
// for each half): each half is the NH hash of UMAC (Black et al. 1999) on
// 64-bit words with its own keys, folded to 64 bits. The sum of products drops
// the carry from its lower to its upper word, which at most doubles the chance.
// A cache may index by one half and verify the other. Keys are the same in
// every process of a build, but may change with it: do not store them.
func Key128(masks *[NumMasks]uint64, s *Scalars) (hi, lo uint64) {
	k := &hashKeys
	scalars := uint64(s.OurOOO) | uint64(s.OurOO)<<8 | uint64(s.TheirOOO)<<16 | uint64(s.TheirOO)<<24 |
		uint64(s.BlackToMove)<<32 | uint64(s.Rule50)<<40
	h1, l1 := bits.Mul64(scalars+k[NumMasks], k[NumMasks+1])
	h2, l2 := bits.Mul64(scalars+k[NumMasks+2], k[NumMasks+3])
	for i := 0; i < NumMasks; i += 2 {
		a, b := masks[i], masks[i+1]
		ph, pl := bits.Mul64(a+k[i], b+k[i+1])
		h1 += ph
		l1 += pl
		ph, pl = bits.Mul64(a+k[i+2], b+k[i+3])
		h2 += ph
		l2 += pl
	}
	return fold(h1, l1, k[keyLen+2], k[keyLen+3]), fold(h2, l2, k[keyLen+4], k[keyLen+5])
}

func fold(h, l, k1, k2 uint64) uint64 {
	ph, pl := bits.Mul64(h^k1, l^k2)
	return ph ^ pl ^ h ^ bits.RotateLeft64(l, 32)
}
