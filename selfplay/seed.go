package selfplay

import (
	"math"

	"github.com/chessbrain/chessbrain/chess"
)

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

// seed begins the random streams of a game. Both games of a mirrored pair have
// the streams of the first for their opening and their odds.
func (g *game) seed(w *WorkerConfig, ordinal uint64) {
	seed := GameSeed(w.RunSeed, w.Process, ordinal)
	shared := GameSeed(w.RunSeed, w.Process, g.cfg.firstOfPair(ordinal))
	for i := range g.pcg {
		s := stream(i + 1)
		if s == streamOpening || s == streamOdds {
			g.pcg[i].Seed(shared, uint64(s))
		} else {
			g.pcg[i].Seed(seed, uint64(s))
		}
	}
}

// firstOfPair returns the ordinal whose opening and odds a game has.
func (c *GameConfig) firstOfPair(ordinal uint64) uint64 {
	if c.Openings != nil && c.Openings.Mirrored && ordinal&branchBit == 0 {
		return ordinal &^ 1
	}
	return ordinal
}

// noSide is no colour.
const noSide chess.Color = 2

// settle derives from g's record, which has its opening at least, and from the
// net that it goes on with what holds for the whole game.
func (g *game) settle(w *WorkerConfig, net Net) {
	ordinal, age := g.rec.Ordinal, uint64(0)
	g.kind, age = settleOrigin(ordinal)
	if g.cfg.Schedule.By == AgeSamples {
		age = net.Samples
	}
	g.simulations = g.cfg.Schedule.Simulations.At(age, g.cfg.Search.Simulations)
	g.maxPlies = g.cfg.Schedule.MaxPlies.At(age, g.cfg.MaxPlies)
	if g.cfg.MaxPliesMaterial > 0 && g.maxPlies > 2 {
		// Who has the last move is better off in the verdict, so half of the games end
		// one ply earlier.
		g.maxPlies -= int(GameSeed(w.RunSeed, w.Process, ordinal) & 1)
	}
	g.policyEnd = 0
	if o := g.cfg.Openings; o != nil && o.PolicyPlies > 0 && g.kind == ticketGame {
		for g.policyEnd < len(g.rec.Plies) && unknown(g.rec.Plies[g.policyEnd].Orig) {
			g.policyEnd++
		}
		g.policyEnd += o.PolicyPlies
	}
	g.settleOdds(w)
}

// settleOdds draws the game's odds, the same whenever it is asked.
func (g *game) settleOdds(w *WorkerConfig) {
	g.oddsSide, g.oddsDivisor = noSide, 1
	o := &g.cfg.Odds
	if o.Probability <= 0 || g.kind == sidePosition {
		return
	}
	first := g.cfg.firstOfPair(g.rec.Ordinal)
	g.pcg[streamOdds-1].Seed(GameSeed(w.RunSeed, w.Process, first), uint64(streamOdds))
	rng := g.stream(streamOdds)
	if rng.Float64() >= o.Probability {
		return
	}
	g.oddsSide = chess.Color(rng.IntN(2)) ^ chess.Color(g.rec.Ordinal-first)
	g.oddsDivisor = math.Exp(rng.Float64() * math.Log(o.Factor))
}
