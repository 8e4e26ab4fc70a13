package plugintest

import (
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// randomPly plays one of the legal moves, with a random policy and values.
func randomPly(rng *rand.Rand, l *chess.MoveList) record.Ply {
	p := record.Ply{
		Move: l.Moves[rng.IntN(l.N)], Visits: rng.Uint32() >> rng.IntN(32),
		Weight: rng.Float32() * 2, KLD: rng.Float32(), Flags: record.PlyFlags(rng.IntN(16)),
		Root: randomValue(rng), Best: randomValue(rng), Played: randomValue(rng), Orig: randomValue(rng),
	}
	switch rng.IntN(8) {
	case 0:
		p.Weight, p.Visits, p.KLD = 0, 0, 0
	case 1: // a proven win, of which the move played throws something away
		p.Flags |= record.BestProven
		p.Best = encoding.QDM{Q: 1, M: float32(rng.IntN(40))}
	case 2: // the move played loses by force
		p.Played = encoding.QDM{Q: -1, M: float32(rng.IntN(40))}
	}
	switch p.Kind = record.PolicyKind(rng.IntN(3)); p.Kind {
	case record.PolicyCounts:
		p.Counts = randomCounts(rng, l.N)
	case record.PolicyProbs:
		p.Probs = randomProbs(rng, l.N)
	}
	return p
}

// randomCounts returns visits of n moves, some of them 0. A single move may have
// none at all.
func randomCounts(rng *rand.Rand, n int) []uint32 {
	counts := make([]uint32, n)
	if n == 1 && rng.IntN(2) == 0 {
		return counts
	}
	counts[rng.IntN(n)] = 1 + rng.Uint32()>>(1+rng.IntN(31))
	for range n / 2 {
		counts[rng.IntN(n)] |= rng.Uint32() >> (16 + rng.IntN(16))
	}
	return counts
}

// randomProbs returns probabilities of n moves, some of them 0.
func randomProbs(rng *rand.Rand, n int) []float32 {
	probs := make([]float32, n)
	sum := 0.0
	for j := range probs {
		if j == 0 || rng.IntN(4) > 0 {
			probs[j] = 0.01 + rng.Float32()
		}
		sum += float64(probs[j])
	}
	for j := range probs {
		probs[j] = float32(float64(probs[j]) / sum)
	}
	return probs
}

// randomValue returns a value estimate, one in four of them unknown in whole or
// in part.
func randomValue(rng *rand.Rand) encoding.QDM {
	d := rng.Float32()
	v := encoding.QDM{Q: (rng.Float32()*2 - 1) * (1 - d), D: d, M: rng.Float32() * 200}
	switch rng.IntN(12) {
	case 0:
		v.M = encoding.UnknownQDM.M
	case 1:
		v.D = encoding.UnknownQDM.D
	case 2:
		return encoding.UnknownQDM
	}
	return v
}

// randomResult returns an outcome of one position: Q and D are both known or
// neither.
func randomResult(rng *rand.Rand) encoding.QDM {
	d := rng.Float32()
	v := encoding.QDM{Q: (rng.Float32()*2 - 1) * (1 - d), D: d, M: rng.Float32() * 200}
	switch rng.IntN(3) {
	case 0:
		v.M = encoding.UnknownQDM.M
	case 1:
		v.Q, v.D = encoding.UnknownQDM.Q, encoding.UnknownQDM.D
	}
	return v
}
