package selfplay

// stream is the use that a game makes of its seed; every stream is a PCG of
// (game seed, stream), so that one use never shifts another's numbers.
type stream uint64

const (
	streamOpening stream = 1 + iota // start position, its line, random plies and those of the policy
	streamNoise                     // the search's root noise
	streamPick                      // exploration and temperature
	streamResign                    // which games are played on
	streamCap                       // full and cheap searches
	streamOdds                      // the side that searches less, and by how much
	streamFork                      // what branches off the finished game
	numStreams    = iota
)

// GameSeed returns the seed of a game: a fixed published hash of the run's seed,
// the process id and the game's ordinal (each absorbed by a splitmix64 finisher).
// Two processes of one run seed never share a seed but by a 64-bit accident.
func GameSeed(runSeed, process, ordinal uint64) uint64 {
	x := mix(runSeed ^ 0x63686573736c6f6f)
	x = mix(x ^ process)
	return mix(x ^ ordinal)
}

// mix is one splitmix64 step: a bijection of 64-bit words.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
