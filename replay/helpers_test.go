package replay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// testGame returns a game of numPlies random legal moves: a pure function of
// its arguments. Every third position has no policy, every fifth weight 0, the
// others weights of 1, 2 and 3.
func testGame(ordinal uint64, numPlies int) *record.Game {
	rng := rand.New(rand.NewPCG(ordinal, 99))
	g := &record.Game{ID: record.GameID(5, 0, ordinal), NetID: "net", Seed: 5, Ordinal: ordinal, End: record.EndUnknown,
		WhiteResult: int8(rng.IntN(3)) - 1}
	board := chess.StartBoard()
	var list chess.MoveList
	for i := range numPlies {
		list.N = 0
		board.GenerateMoves(&list)
		moves := list.Slice()
		if len(moves) == 0 {
			return testGame(ordinal+1<<32, numPlies) // mated by chance: another line of moves
		}
		p := record.Ply{Move: moves[rng.IntN(len(moves))], Visits: 33, Weight: float32(1 + i%3), KLD: 0.5,
			Root: encoding.QDM{Q: 0.25, D: 0.5, M: 40}, Best: encoding.UnknownQDM, Played: encoding.UnknownQDM, Orig: encoding.UnknownQDM}
		if i%3 != 2 {
			p.Kind = record.PolicyCounts
			p.Counts = make([]uint32, len(moves))
			for range 32 {
				p.Counts[rng.IntN(len(moves))]++
			}
		}
		if i%5 == 4 {
			p.Weight = 0
		}
		g.Plies = append(g.Plies, p)
		board.Make(p.Move)
	}
	list.N = 0
	if board.GenerateMoves(&list); list.N == 0 {
		return testGame(ordinal+1<<32, numPlies)
	}
	return g
}

// testRows counts the rows of testGame that are meant for training.
func testRows(numPlies int) (rows int) {
	for i := range numPlies {
		if i%3 != 2 && i%5 != 4 {
			rows++
		}
	}
	return rows
}

// testGames returns games with ordinals from..to-1.
func testGames(from, to uint64, numPlies int) (games []*record.Game) {
	for o := from; o < to; o++ {
		games = append(games, testGame(o, numPlies))
	}
	return games
}

// smallReserve lets tests run on full disks.
var smallReserve = &fsx.Reserve{Bytes: 1}

// writeChunk returns the bytes of a sealed chunk with one block per group.
func writeChunk(t testing.TB, groups ...[]*record.Game) []byte {
	t.Helper()
	m := memfs.New()
	w := NewWriter(m, "d", WriterOptions{NetID: "net-1", RunID: "run-1"})
	for _, games := range groups {
		for _, g := range games {
			if err := w.Append(g); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := fsx.ReadFile(m, "d/00000001.games")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// putFile writes a file into a memory file system.
func putFile(t testing.TB, m fsx.FS, path string, data []byte) {
	t.Helper()
	if err := fsx.WriteFile(m, path, data); err != nil {
		t.Fatal(err)
	}
}

// ordinals lists the games' ordinals.
func ordinals(games []*record.Game) (list []uint64) {
	for _, g := range games {
		list = append(list, g.Ordinal)
	}
	return list
}

// sameGames compares games by their bytes.
func sameGames(a, b []*record.Game) error {
	if !slices.Equal(ordinals(a), ordinals(b)) {
		return fmt.Errorf("ordinals %v, want %v", ordinals(a), ordinals(b))
	}
	for i := range a {
		x, err := record.Append(nil, a[i])
		if err != nil {
			return err
		}
		y, err := record.Append(nil, b[i])
		if err != nil {
			return err
		}
		if !bytes.Equal(x, y) {
			return fmt.Errorf("game %d differs", a[i].Ordinal)
		}
	}
	return nil
}

// What tests ask of the types.

// WeightSum returns the sum of the rows' weights.
func (w *Window) WeightSum() float64 { return float64(w.View().WeightSum()) / stage.WeightUnit }

// OrdinalList returns the games' ordinals, oldest first.
func (w *Window) OrdinalList() []uint64 {
	v := w.View()
	list := make([]uint64, len(v.entries))
	for i, e := range v.entries {
		list[i] = e.Game.Ordinal
	}
	return list
}

// IDs returns the games' ids, oldest first.
func (w *Window) IDs() [][16]byte {
	v := w.View()
	list := make([][16]byte, len(v.entries))
	for i, e := range v.entries {
		list[i] = e.Game.ID
	}
	return list
}

// Rows returns how many rows were handed out since the beginning of the run.
func (s *Source) Rows() uint64 { return s.rows }

// Rows returns how many rows the pass has in all.
func (p *Pass) Rows() int { return p.total }
