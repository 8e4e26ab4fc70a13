package prepare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// testGame is a game of random legal moves: a pure function of its arguments.
// line says which moves; ply i has weight 1+i, every third one no policy.
func testGame(t testing.TB, ordinal, line uint64, numPlies int) *record.Game {
	t.Helper()
	rng := rand.New(rand.NewPCG(line, 3))
	g := &record.Game{ID: record.GameID(9, 0, ordinal), NetID: "net", Ordinal: ordinal, WhiteResult: int8(ordinal%3) - 1}
	board := chess.StartBoard()
	var list chess.MoveList
	for i := range numPlies {
		list.N = 0
		if board.GenerateMoves(&list); list.N == 0 {
			return testGame(t, ordinal, line+1<<32, numPlies) // mated by chance
		}
		p := record.Ply{Move: list.Moves[rng.IntN(list.N)], Weight: float32(1 + i)}
		if i%3 != 2 {
			p.Kind, p.Counts = record.PolicyCounts, make([]uint32, list.N)
			p.Counts[list.Index(p.Move)] = 1
		}
		g.Plies = append(g.Plies, p)
		board.Make(p.Move)
	}
	if g.Validate() != nil {
		return testGame(t, ordinal, line+1<<32, numPlies)
	}
	return g
}

// writeGames writes chunk files of so many games each into dir.
func writeGames(t testing.TB, fsys fsx.FS, dir string, chunk int, games ...*record.Game) {
	t.Helper()
	w := replay.NewWriter(fsys, dir, replay.WriterOptions{Reserve: &fsx.Reserve{Bytes: 1}})
	for i, g := range games {
		if err := w.Append(g); err != nil {
			t.Fatal(err)
		}
		if (i+1)%chunk == 0 {
			if err := w.Seal(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// readGames returns the games of a step's directory, file by file, as text.
func readGames(t testing.TB, fsys fsx.FS, dir string) []string {
	t.Helper()
	m, err := ReadManifest(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range m.Files {
		games, info, err := replay.ReadChunk(fsys, dir+"/"+f.Name)
		if err != nil || len(info.Damage) > 0 || info.Torn || len(games) != f.Games {
			t.Fatalf("%s: %d games, %+v, %v", f.Name, len(games), info, err)
		}
		all = append(all, "|")
		for _, g := range games {
			all = append(all, fmt.Sprint(g.Ordinal, weights(g)))
		}
	}
	return all
}

// weights lists the weights of a game.
func weights(g *record.Game) (w []int) {
	for i := range g.Plies {
		w = append(w, int(g.Plies[i].Weight))
	}
	return w
}

// manyGames returns n games of different lines.
func manyGames(t testing.TB, n int) []*record.Game {
	rng := rand.New(rand.NewPCG(7, 7))
	var games []*record.Game
	for i := range n {
		games = append(games, testGame(t, uint64(i), rng.Uint64(), 4+i%9))
	}
	return games
}

func mustSelect(t testing.TB, text string, seed uint64) Selector {
	t.Helper()
	s, err := ParseSelector(text, seed)
	if err != nil {
		t.Fatal(err)
	}
	if s.String() != text {
		t.Fatalf("%q is written as %q", text, s)
	}
	return s
}
