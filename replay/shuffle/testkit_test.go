package shuffle

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// testGame returns a game of numPlies random legal moves, a pure
// function of its arguments: counts, probabilities and plies without a policy,
// values that are known, partly known and unknown, weights 0, 1 and others.
func testGame(ordinal uint64, numPlies int) *record.Game {
	rng := rand.New(rand.NewPCG(ordinal, 7))
	g := &record.Game{ID: record.GameID(9, 0, ordinal), NetID: "net", Seed: 9, Ordinal: ordinal, WhiteResult: int8(rng.IntN(3)) - 1}
	board := chess.StartBoard()
	if ordinal%5 == 4 { // pawns about to promote, castling, en passant
		g.Start = "r3k2r/1P4p1/8/2pP4/8/8/1p4P1/R3K2R w KQkq c6 0 1"
		board, _ = chess.ParseFEN(g.Start)
	}
	var list chess.MoveList
	for i := range numPlies {
		list.N = 0
		board.GenerateMoves(&list)
		moves := list.Slice()
		if len(moves) == 0 {
			return testGame(ordinal+1<<32, numPlies) // over by chance: another line of moves
		}
		p := testPly(rng, i, len(moves))
		p.Move = moves[rng.IntN(len(moves))]
		g.Plies = append(g.Plies, p)
		board.Make(p.Move)
	}
	list.N = 0
	if board.GenerateMoves(&list); list.N == 0 {
		return testGame(ordinal+1<<32, numPlies)
	}
	return g
}

// testPly returns ply i, with n legal moves.
func testPly(rng *rand.Rand, i, n int) record.Ply {
	value := func() encoding.QDM {
		d := rng.Float32()
		return encoding.QDM{Q: (rng.Float32()*2 - 1) * (1 - d), D: d, M: rng.Float32() * 80}
	}
	p := record.Ply{Visits: 33, Weight: 1, Root: value(), Best: value(), Orig: encoding.UnknownQDM}
	p.Played = p.Best
	if i%4 == 1 {
		p.Played = value()
		p.Orig = encoding.QDM{Q: 0.25, D: float32(math.NaN()), M: float32(math.NaN())}
	}
	if i%7 == 6 {
		p.Weight = 0
	} else if i%5 == 3 {
		p.Weight = 2.5
	}
	switch i % 6 {
	case 5:
	case 4:
		p.Kind = record.PolicyProbs
		p.Probs = make([]float32, n)
		for range 8 {
			p.Probs[rng.IntN(n)] += 0.125
		}
	default:
		p.Kind = record.PolicyCounts
		p.Counts = make([]uint32, n)
		for range 32 {
			p.Counts[rng.IntN(n)]++
		}
	}
	return p
}

// testGames returns games with ordinals from..to-1.
func testGames(from, to uint64, numPlies int) (games []*record.Game) {
	for o := from; o < to; o++ {
		games = append(games, testGame(o, numPlies))
	}
	return games
}

// writeGames writes games as one sealed chunk into dir of m.
func writeGames(t testing.TB, m fsx.FS, dir string, games []*record.Game) {
	t.Helper()
	w := replay.NewWriter(m, dir, replay.WriterOptions{NetID: "net"})
	for _, g := range games {
		if err := w.Append(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// rowStrings returns the packed rows of games that are meant for training.
func rowStrings(t testing.TB, games []*record.Game, keep func(*record.Game) bool) (rows []string) {
	t.Helper()
	var r record.Replayer
	b := encoding.NewTrainBatch(1)
	for _, g := range games {
		for i := range g.Plies {
			if p := &g.Plies[i]; p.Kind == record.PolicyNone || !(p.Weight > 0) || !keep(g) {
				continue
			}
			b.Reset()
			if err := r.AppendRow(b, g, i); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, rowString(b, 0))
		}
	}
	return rows
}

// rowString holds all of a row, floats as bits, NaN as such: a form that owes nothing to
// the packed one.
func rowString(b *encoding.TrainBatch, i int) string {
	var s []byte
	for _, v := range []any{b.Masks[i][:], b.Scalars[i], b.LegalOf(i), b.Ahead[i]} {
		s, _ = binary.Append(s, binary.BigEndian, v) // never fails
	}
	float := func(f float32) {
		if f != f {
			f = float32(math.NaN())
		}
		s = binary.BigEndian.AppendUint32(s, math.Float32bits(f))
	}
	for _, p := range b.PolicyOf(i) {
		float(p)
	}
	for _, v := range b.Targets[i] {
		float(v.Q)
		float(v.D)
		float(v.M)
	}
	float(b.Weight[i])
	return string(s)
}

// batchSource is what Source and Pass have in common.
type batchSource interface {
	Next(context.Context, *encoding.TrainBatch) error
}

// drain reads a source to its end in batches of the given size.
func drain(t testing.TB, src batchSource, size int) (rows []string) {
	t.Helper()
	b := encoding.NewTrainBatch(size)
	for {
		b.Reset()
		if err := src.Next(context.Background(), b); err != nil {
			if err.Error() == "EOF" {
				return rows
			}
			t.Fatal(err)
		}
		for i := range b.N {
			rows = append(rows, rowString(b, i))
		}
	}
}

// sameMultiset compares without regard to order.
func sameMultiset(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

var testTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testOptions shuffle run/selfplay of m into run/shuffled, everything, with
// small files.
func testOptions(m fsx.FS) Options {
	return Options{FS: m, InputDirs: []string{"run/selfplay"}, OutputDir: "run/shuffled", Threads: 2, Now: testTime,
		Program: "test", Settings: Settings{Window: WindowOptions{MinRows: 1, Expand: 1, Exponent: 1}, RowsPerFile: 100,
			Seed: 3, Split: SplitByGame, Validation: 0.2}}
}

// testRun returns a file system with games of two nets and two processes.
func testRun(t testing.TB) (*memfs.FS, []*record.Game) {
	t.Helper()
	m := memfs.New()
	games := testGames(0, 40, 24)
	writeGames(t, m, "run/selfplay/a-main-s100-d0/p0", games[:15])
	writeGames(t, m, "run/selfplay/a-main-s100-d0/p1", games[15:20])
	writeGames(t, m, "run/selfplay/a-main-s200-d500/p0", games[20:])
	return m, games
}
