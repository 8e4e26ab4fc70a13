package run

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// anyGame plays so many random plies from a start position ("" = the normal
// one). Every fourth position was not searched.
func anyGame(t testing.TB, start string, ordinal uint64, plies int, rng *rand.Rand) *record.Game {
	t.Helper()
	g := &record.Game{ID: record.GameID(9, 1, ordinal), NetID: "job-s0-d0", Start: start, Seed: 9, Ordinal: ordinal, End: record.EndMaxPlies}
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	h := chess.NewHistory(b)
	for i := 0; ; i++ {
		var l chess.MoveList
		h.Board().GenerateMoves(&l)
		if h.Terminal(l.N) != chess.NotOver {
			return anyGame(t, start, ordinal, plies, rng) // another line
		}
		if i == plies {
			break
		}
		m := l.Moves[rng.IntN(l.N)]
		p := record.Ply{Move: m, Root: encoding.UnknownQDM, Best: encoding.UnknownQDM, Played: encoding.UnknownQDM, Orig: encoding.UnknownQDM}
		if i%4 != 1 {
			v := encoding.QDM{Q: rng.Float32() - .5, D: rng.Float32() / 2, M: 100 * rng.Float32()}
			p = record.Ply{Move: m, Kind: record.PolicyCounts, Counts: make([]uint32, l.N), Visits: 101, Weight: 1, Root: v, Best: v, Played: v, Orig: v}
			p.Counts[rng.IntN(l.N)] = 100
		}
		g.Plies = append(g.Plies, p)
		h.Push(m)
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	return g
}

func readPGN(t testing.TB, text string) []*pgn.Game {
	t.Helper()
	var games []*pgn.Game
	if err := pgn.Read(strings.NewReader(text), func(g *pgn.Game) error {
		games = append(games, g)
		return nil
	}); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return games
}
