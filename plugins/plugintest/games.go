package plugintest

import (
	"fmt"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// starts are the positions that games begin with: the normal one, middle games,
// Chess960, and endings that tables know.
var starts = []string{
	"",
	"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
	"bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
	"2nnrbkr/p1qppppp/8/1ppb4/6PP/3PP3/PPP2P2/BQNNRBKR w HEhe - 1 9",
	"8/8/8/4k3/8/8/3QK3/8 w - - 0 1",
	"8/8/8/4k3/8/8/3PK3/8 b - - 0 1",
	"8/P7/8/8/8/8/k6K/8 w - - 10 60",
	"8/8/4k3/8/8/3RK3/8/8 w - - 92 80",
}

// firstChess960 and lastChess960 are the starts with Chess960 castling.
const firstChess960, lastChess960 = 2, 3

// maxRandomPlies is the length limit of most games of Games.
const maxRandomPlies = 80

// Games returns n valid games of random legal moves with random values and all
// that a record can hold: every kind of policy, unknown values, proven ones,
// weights of 0, results of single positions, Chess960, every end. They depend on
// the seed alone, game i on (seed, i).
func Games(seed uint64, n int) []*record.Game {
	games := make([]*record.Game, n)
	for i := range games {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		games[i] = randomGame(rng, i%len(starts), rng.IntN(maxRandomPlies), false)
		identify(games[i], seed, uint64(i))
	}
	return games
}

// EdgeGames returns valid games at the limits: no plies, one ply, 450 plies,
// nothing to train on, no values known, mate in four plies.
func EdgeGames(seed uint64) []*record.Game {
	rng := rand.New(rand.NewPCG(seed, 1<<63))
	games := []*record.Game{
		{},
		{Start: starts[firstChess960], Flags: record.Chess960, End: record.EndAborted},
		randomGame(rng, 0, 1, true),
		randomGame(rng, lastChess960, 1, true),
		randomGame(rng, 0, 450, true),
		bare(randomGame(rng, 1, 40, true)),
	}
	weightless := randomGame(rng, 0, 30, true)
	for i := range weightless.Plies {
		weightless.Plies[i].Weight = 0
	}
	games = append(games, weightless, foolsMate(rng))
	for i, g := range games {
		identify(g, seed, 1<<32+uint64(i))
	}
	return games
}

// foolsMate is the shortest game that ends in mate.
func foolsMate(rng *rand.Rand) *record.Game {
	g := &record.Game{End: record.EndCheckmate, WhiteResult: -1}
	h := chess.NewHistory(chess.StartBoard())
	var l chess.MoveList
	for _, text := range []string{"f2f3", "e7e5", "g2g4", "d8h4"} {
		l.N = 0
		h.Board().GenerateMoves(&l)
		p := randomPly(rng, &l)
		var err error
		if p.Move, err = h.Board().ParseUCI(text); err != nil {
			panic(err)
		}
		g.Plies = append(g.Plies, p)
		h.Push(p.Move)
	}
	return g
}

// identify gives a game the fields that name it.
func identify(g *record.Game, seed, ordinal uint64) {
	g.ID, g.Seed, g.Ordinal = record.GameID(seed, 0, ordinal), seed, ordinal
	g.NetID = fmt.Sprintf("plugintest-main-s%d-d0", seed%1000)
}

// bare takes everything but the moves from a game.
func bare(g *record.Game) *record.Game {
	for i := range g.Plies {
		g.Plies[i] = record.Ply{Move: g.Plies[i].Move, Weight: 1,
			Root: encoding.UnknownQDM, Best: encoding.UnknownQDM, Played: encoding.UnknownQDM, Orig: encoding.UnknownQDM}
	}
	g.Results, g.Extra = nil, nil
	return g
}

// randomGame plays at most maxPlies random moves from a start. Where exactly,
// it has that many: lines that end earlier are played again.
func randomGame(rng *rand.Rand, start, maxPlies int, exactly bool) *record.Game {
	for {
		g := &record.Game{Start: starts[start]}
		if start >= firstChess960 && start <= lastChess960 {
			g.Flags |= record.Chess960
		}
		b, err := g.StartBoard()
		if err != nil {
			panic(err) // the table above is wrong
		}
		h := chess.NewHistory(b)
		byRule := !exactly && rng.IntN(2) == 0 // draws by rule end the game
		legal := play(rng, g, h, maxPlies, byRule)
		if exactly && len(g.Plies) != maxPlies {
			continue
		}
		finish(rng, g, h, legal)
		return g
	}
}

// play appends random plies to g until the limit, until there is no move, or,
// where byRule, until a rule ends the game. It returns the number of legal moves
// of the last position.
func play(rng *rand.Rand, g *record.Game, h *chess.History, maxPlies int, byRule bool) int {
	var l chess.MoveList
	for {
		l.N = 0
		h.Board().GenerateMoves(&l)
		if l.N == 0 || len(g.Plies) >= maxPlies || byRule && h.Terminal(l.N) != chess.NotOver {
			return l.N
		}
		p := randomPly(rng, &l)
		g.Plies = append(g.Plies, p)
		h.Push(p.Move)
	}
}

// finish gives g an end that its final position allows, a result and marks.
func finish(rng *rand.Rand, g *record.Game, h *chess.History, legal int) {
	g.End = record.EndOf(h.Terminal(legal))
	switch {
	case g.End == record.EndCheckmate:
		g.WhiteResult = 1
		if h.Board().SideToMove() == chess.White {
			g.WhiteResult = -1
		}
	case legal > 0 && (g.End == record.EndUnknown || rng.IntN(2) == 0):
		ends := []record.EndReason{record.EndUnknown, record.EndResign, record.EndTablebase, record.EndMaxPlies, record.EndAborted}
		g.End = ends[rng.IntN(len(ends))]
		switch g.End {
		case record.EndAborted:
		case record.EndResign:
			g.WhiteResult = int8(2*rng.IntN(2) - 1)
		default:
			g.WhiteResult = int8(rng.IntN(3) - 1)
		}
	}
	if g.End == record.EndMaxPlies {
		g.Flags |= record.MaxPliesHit
	}
	if rng.IntN(8) == 0 {
		g.Flags |= record.NetChanged | record.ResignDisabled
	}
	if rng.IntN(8) == 0 {
		g.Flags |= record.Imported
		g.Extra = []byte("kept as it is")
	}
	if rng.IntN(3) == 0 {
		for i := range g.Plies {
			if rng.IntN(2) == 0 {
				g.SetResult(i, randomResult(rng))
			}
		}
	}
}

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

// knownValue returns a value estimate with all its parts.
func knownValue(rng *rand.Rand) encoding.QDM {
	d := rng.Float32()
	return encoding.QDM{Q: (rng.Float32()*2 - 1) * (1 - d), D: d, M: rng.Float32() * 200}
}

// randomValue returns a value estimate, one in four of them unknown in whole or
// in part.
func randomValue(rng *rand.Rand) encoding.QDM {
	v := knownValue(rng)
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
	v := knownValue(rng)
	switch rng.IntN(3) {
	case 0:
		v.M = encoding.UnknownQDM.M
	case 1:
		v.Q, v.D = encoding.UnknownQDM.Q, encoding.UnknownQDM.D
	}
	return v
}
