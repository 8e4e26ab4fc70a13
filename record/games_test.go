package record

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// sampleGame is a small game that uses every part of the format: fool's mate
// with one ply of each policy kind.
func sampleGame(t testing.TB) *Game {
	t.Helper()
	g := &Game{
		ID: GameID(7, 1, 2), NetID: "demo-main-s0-d0", Seed: 7, Ordinal: 2,
		Flags: ResignDisabled, End: EndCheckmate, WhiteResult: -1, Extra: []byte("extra"),
	}
	h := chess.NewHistory(chess.StartBoard())
	var l chess.MoveList
	for i, s := range []string{"f2f3", "e7e5", "g2g4", "d8h4"} {
		h.Board().GenerateMoves(&l)
		m, err := h.Board().ParseUCI(s)
		if err != nil {
			t.Fatal(err)
		}
		p := Ply{
			Move: m, Visits: uint32(33 + 100*i), Weight: 1, KLD: 0.25, Flags: FullSearch,
			Root: encoding.QDM{Q: 0.125, D: 0.5, M: 40}, Best: encoding.QDM{Q: 0.25, D: 0.5, M: 41},
			Played: encoding.QDM{Q: -0.25, D: 0.5, M: 3}, Orig: encoding.UnknownQDM,
		}
		switch i {
		case 0, 3:
			p.Kind = PolicyCounts
			p.Counts = make([]uint32, l.N)
			for j, mv := range l.Slice() {
				if mv == m {
					p.Counts[j] = 300
				} else if mv>>6&63 == 24 { // to a4
					p.Counts[j] = 2
				}
			}
		case 1:
			p.Kind = PolicyProbs
			p.Probs = make([]float32, l.N)
			for j, mv := range l.Slice() {
				if mv == m {
					p.Probs[j] = 0.75
				} else if mv>>6&63 == 24 {
					p.Probs[j] = 0.25
				}
			}
		case 2:
			p.Weight, p.Flags = 0, PlayedOn|BestProven|Adjudicated
		}
		g.Plies = append(g.Plies, p)
		h.Push(m)
	}
	return g
}

// randomGame plays random moves, at most maxPlies, from a FEN, with random but
// valid values.
func randomGame(t testing.TB, seed uint64, start string, maxPlies int) *Game {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	g := &Game{ID: GameID(seed, 0, 0), Start: start, NetID: "random", Seed: seed, Ordinal: seed * 3, End: EndMaxPlies}
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	h := chess.NewHistory(b)
	var l chess.MoveList
	for {
		l.N = 0
		h.Board().GenerateMoves(&l)
		if end, over := endOf(h, l.N); over {
			g.End = end
			if end == EndCheckmate {
				g.WhiteResult = 1
				if h.Board().SideToMove() == chess.White {
					g.WhiteResult = -1
				}
			}
			return g
		}
		if len(g.Plies) == maxPlies {
			return g
		}
		g.Plies = append(g.Plies, randomPly(rng, &l))
		h.Push(g.Plies[len(g.Plies)-1].Move)
	}
}

func endOf(h *chess.History, numLegal int) (EndReason, bool) {
	switch b := h.Board(); {
	case numLegal == 0 && b.InCheck():
		return EndCheckmate, true
	case numLegal == 0:
		return EndStalemate, true
	case h.Repetitions(h.Len()-1) >= 2:
		return EndRepetition, true
	case b.Rule50() >= 100:
		return EndFiftyMoves, true
	case b.InsufficientMaterial():
		return EndMaterial, true
	}
	return EndUnknown, false
}

func randomPly(rng *rand.Rand, l *chess.MoveList) Ply {
	p := Ply{
		Move: l.Moves[rng.IntN(l.N)], Kind: PolicyKind(rng.IntN(3)), Visits: rng.Uint32() >> rng.IntN(32),
		Weight: rng.Float32(), KLD: rng.Float32(), Flags: PlyFlags(rng.IntN(16)),
	}
	for _, v := range []*encoding.QDM{&p.Root, &p.Best, &p.Played, &p.Orig} {
		if rng.IntN(4) == 0 {
			*v = encoding.UnknownQDM
			continue
		}
		d := rng.Float32()
		*v = encoding.QDM{Q: (rng.Float32()*2 - 1) * (1 - d), D: d, M: rng.Float32() * 200}
	}
	switch p.Kind {
	case PolicyCounts:
		p.Counts = make([]uint32, l.N)
		p.Counts[rng.IntN(l.N)] = 1 + rng.Uint32()>>rng.IntN(32)
		for range l.N / 2 {
			p.Counts[rng.IntN(l.N)] = rng.Uint32() >> (16 + rng.IntN(16))
		}
		p.Counts[0] |= 1
	case PolicyProbs:
		p.Probs = make([]float32, l.N)
		sum := float32(0)
		for j := range p.Probs {
			p.Probs[j] = rng.Float32()
			sum += p.Probs[j]
		}
		for j := range p.Probs {
			p.Probs[j] /= sum
		}
	}
	return p
}

// equalGames compares all fields; NaN equals NaN.
func equalGames(a, b *Game) bool {
	if len(a.Plies) != len(b.Plies) || string(a.Extra) != string(b.Extra) ||
		a.ID != b.ID || a.Start != b.Start || a.NetID != b.NetID || a.Seed != b.Seed || a.Ordinal != b.Ordinal ||
		a.Flags != b.Flags || a.End != b.End || a.WhiteResult != b.WhiteResult || !slices.EqualFunc(a.Results, b.Results, sameQDM) {
		return false
	}
	for i := range a.Plies {
		p, q := &a.Plies[i], &b.Plies[i]
		same := p.Move == q.Move && p.Kind == q.Kind && p.Visits == q.Visits && p.Weight == q.Weight &&
			p.KLD == q.KLD && p.Flags == q.Flags && len(p.Counts) == len(q.Counts) && len(p.Probs) == len(q.Probs)
		if !same {
			return false
		}
		for j := range p.Counts {
			same = same && p.Counts[j] == q.Counts[j]
		}
		for j := range p.Probs {
			same = same && math.Float32bits(p.Probs[j]) == math.Float32bits(q.Probs[j])
		}
		pv, qv := p.values(), q.values()
		for j := range pv {
			same = same && sameQDM(pv[j].QDM, qv[j].QDM)
		}
		if !same {
			return false
		}
	}
	return true
}

func sameQDM(a, b encoding.QDM) bool {
	return sameFloat(a.Q, b.Q) && sameFloat(a.D, b.D) && sameFloat(a.M, b.M)
}

func sameFloat(a, b float32) bool { return a == b || a != a && b != b }
