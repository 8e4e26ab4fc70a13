package export

import (
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// anyGame plays so many random plies from a start position ("" = the normal
// one). Of four positions one was not searched, one has probabilities and two
// have visits.
func anyGame(t testing.TB, start string, ordinal uint64, plies int, rng *rand.Rand) *record.Game {
	t.Helper()
	g := &record.Game{ID: record.GameID(9, 1, ordinal), NetID: "job-s0-d0", Start: start, Seed: 9, Ordinal: ordinal, End: record.EndMaxPlies}
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	h := chess.NewHistory(b)
	for i := range plies {
		var l chess.MoveList
		h.Board().GenerateMoves(&l)
		if h.Terminal(l.N) != chess.NotOver {
			return anyGame(t, start, ordinal, plies, rng) // another line
		}
		m := l.Moves[rng.IntN(l.N)]
		g.Plies = append(g.Plies, anyPly(m, l.N, i%4, rng))
		h.Push(m)
	}
	var l chess.MoveList
	if h.Board().GenerateMoves(&l); l.N == 0 {
		return anyGame(t, start, ordinal, plies, rng)
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	return g
}

// anyPly is a position with n legal moves: sort 1 was not searched, 2 has
// probabilities.
func anyPly(m chess.Move, n, sort int, rng *rand.Rand) record.Ply {
	none := encoding.UnknownQDM
	if sort == 1 {
		return record.Ply{Move: m, Root: none, Best: none, Played: none, Orig: none}
	}
	value := func() encoding.QDM {
		return encoding.QDM{Q: rng.Float32() - .5, D: rng.Float32() / 2, M: 100 * rng.Float32()}
	}
	p := record.Ply{Move: m, Visits: 101, Weight: 0.5 + rng.Float32(), KLD: rng.Float32(), Root: value(), Best: value(), Played: value(), Orig: none}
	if sort == 2 {
		p.Kind, p.Probs = record.PolicyProbs, make([]float32, n)
		left := float32(1)
		for k := range p.Probs[1:] {
			p.Probs[k+1] = left * rng.Float32() / 2
			left -= p.Probs[k+1]
		}
		p.Probs[0] = left
		return p
	}
	p.Kind, p.Counts = record.PolicyCounts, make([]uint32, n)
	for k := range p.Counts {
		p.Counts[k] = rng.Uint32N(60)
	}
	p.Counts[rng.IntN(n)] += 1 + rng.Uint32N(30_000)
	return p
}

// anyGames plays games of several starts, Chess960 among them.
func anyGames(t testing.TB, n int, rng *rand.Rand) (games []*record.Game) {
	t.Helper()
	starts := []string{"", "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R b KQkq - 4 7", "1r3k1r/pppppppp/8/8/8/8/PPPPPPPP/1R3K1R w HBhb - 0 1"}
	for i := range n {
		g := anyGame(t, starts[i%len(starts)], uint64(i), 5+rng.IntN(40), rng)
		if i%len(starts) == 2 {
			g.Flags |= record.Chess960
		}
		switch rng.IntN(3) {
		case 0:
			g.End, g.WhiteResult = record.EndResign, int8(1-2*rng.IntN(2))
		case 1:
			g.End = record.EndAborted
		}
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		games = append(games, g)
	}
	return games
}

// seqOf yields games, and then an error unless that is nil.
func seqOf(games []*record.Game, err error) iter.Seq2[*record.Game, error] {
	return func(yield func(*record.Game, error) bool) {
		for _, g := range games {
			if !yield(g, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// exporterOn makes a built-in exporter with its defaults over a file system.
func exporterOn(t testing.TB, fsys fsx.FS, name string) stage.Exporter {
	t.Helper()
	d, err := stage.Find(definitions(fsys), stage.KindExporter, name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.MakeExporter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
