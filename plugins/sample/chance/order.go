package chance

import "math/bits"

const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio

// Mix hashes two numbers: a step of splitmix64 (Steele, Lea and Flood 2014) for
// each.
func Mix(a, b uint64) uint64 {
	return finish(finish(a+golden) + b*0xd1342543de82ef95 + golden)
}

func finish(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// permuteRounds leave a bias of 2^-24 in where one index goes.
const permuteRounds = 24

// Permute returns the place of i, 0 <= i < n, in the random order of 0..n-1
// that the key names, without making the order: a swap-or-not shuffle (Hoang,
// Morris and Rogaway 2012), which pairs the indices anew in each round and swaps
// the two of a pair by a toss.
func Permute(i, n, key uint64) uint64 {
	for round := range uint64(permuteRounds) {
		k, _ := bits.Mul64(finish(key+(2*round+1)*golden), n)
		partner := k - i
		if k < i {
			partner += n
		}
		if finish(key+(2*round+2)*golden+max(i, partner)*0xd1342543de82ef95)>>63 == 1 {
			i = partner
		}
	}
	return i
}
