package record

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// seekStarts are positions that games of the tests start from.
var seekStarts = []string{
	"",
	"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
	"4k3/1P4P1/8/8/8/8/1p4p1/4K3 b - - 3 40", // promotions
	"rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3",
	"1r3k1r/8/8/8/8/8/8/1R3K1R b HBhb - 3 9",
}

func opened(t testing.TB, g *Game) Encoded {
	t.Helper()
	data, err := Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(append(data, "tail"...))
	if err != nil {
		t.Fatal(err)
	}
	if e.plies != len(g.Plies) || len(e.Bytes()) != len(data) {
		t.Fatalf("%d plies, %d bytes", e.plies, len(e.Bytes()))
	}
	return e
}

// sameRows compares two batches bit for bit; NaN equals NaN.
func sameRows(t *testing.T, got, want *encoding.TrainBatch) {
	t.Helper()
	if got.N != want.N || !slices.Equal(got.Masks[:got.N], want.Masks[:want.N]) || !slices.Equal(got.Scalars[:got.N], want.Scalars[:want.N]) ||
		!slices.Equal(got.LegalStart, want.LegalStart) || !slices.Equal(got.Legal, want.Legal) || !slices.Equal(got.Weight[:got.N], want.Weight[:want.N]) {
		t.Fatalf("%d and %d rows: inputs, moves or weights differ", got.N, want.N)
	}
	for i, v := range want.Policy {
		if math.Float32bits(got.Policy[i]) != math.Float32bits(v) {
			t.Fatalf("policy %d is %v, want %v", i, got.Policy[i], v)
		}
	}
	for i := range want.N {
		for k, v := range want.Targets[i] {
			if !sameQDM(got.Targets[i][k], v) {
				t.Fatalf("row %d, target %d: %v, want %v", i, k, got.Targets[i][k], v)
			}
		}
	}
}

// Rows from the bytes are those of the decoded game, for all kinds of policy,
// starts and ends, with outcomes of single positions and without.
func TestSeekerEqualsReplayer(t *testing.T) {
	var s Seeker
	var r Replayer
	for seed := range uint64(40) {
		g := randomGame(t, seed, seekStarts[seed%5], 90)
		rng := rand.New(rand.NewPCG(seed, 2))
		if seed%3 == 1 {
			for range 5 {
				g.SetResult(rng.IntN(len(g.Plies)), encoding.QDM{Q: -.25, D: .5, M: float32(rng.IntN(9))})
			}
		}
		if seed%4 == 3 && g.End == EndMaxPlies {
			g.End = EndAborted
		}
		s.ShortTerm, r.ShortTerm = float64(seed%2)*.8, float64(seed%2)*.8
		e := opened(t, g)
		got, want := encoding.NewTrainBatch(4), encoding.NewTrainBatch(4)
		plies := []int{0, 0}
		for i := range g.Plies {
			if rng.IntN(2) == 0 {
				plies = append(plies, i)
			}
		}
		if err := s.AppendRows(got, &e, plies); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := r.AppendRows(want, g, plies); err != nil {
			t.Fatal(err)
		}
		sameRows(t, got, want)
		for i, total := range s.Totals() {
			if want := CountSum(g.Plies[plies[i]].Counts); total != want {
				t.Errorf("seed %d: row %d is of %d visits, want %d", seed, i, total, want)
			}
		}
		last := len(g.Plies) - 1
		got.Reset()
		want.Reset()
		if err := errors.Join(s.AppendRows(got, &e, []int{last}), r.AppendRow(want, g, last)); err != nil {
			t.Fatal(err)
		}
		sameRows(t, got, want)
	}
}

// What Plies reads is what the decoded game has.
func TestEncodedPlies(t *testing.T) {
	g := randomGame(t, 3, "", 60)
	e := opened(t, g)
	seen := 0
	err := e.Plies(func(i int, p *Ply) bool {
		want := g.Plies[i]
		a, b := p.values(), want.values()
		for k := range a {
			if !sameQDM(a[k].QDM, b[k].QDM) {
				t.Errorf("ply %d: value %v, want %v", i, a[k], b[k])
			}
		}
		if p.Move != want.Move || p.Kind != want.Kind || p.Visits != want.Visits || p.Weight != want.Weight || p.KLD != want.KLD || p.Flags != want.Flags || p.Counts != nil || p.Probs != nil {
			t.Errorf("ply %d is %+v, want %+v", i, p, want)
		}
		seen++
		return i < 40
	})
	if err != nil || seen != 41 {
		t.Errorf("%d plies, %v", seen, err)
	}
	back, err := e.Decode()
	if err != nil || !equalGames(back, g) {
		t.Errorf("decoding the bytes: %v", err)
	}
	empty := opened(t, &Game{NetID: "n"})
	if err := empty.Plies(func(int, *Ply) bool { t.Error("a ply of an empty game"); return true }); err != nil {
		t.Error(err)
	}
}

func TestSeekerErrors(t *testing.T) {
	e := opened(t, sampleGame(t))
	var s Seeker
	b := encoding.NewTrainBatch(2)
	for _, plies := range [][]int{{4}, {-1}, {2, 1}} {
		var invalid *InvalidError
		if err := s.AppendRows(b, &e, plies); !errors.As(err, &invalid) {
			t.Errorf("plies %v: %v", plies, err)
		}
	}
	data := slices.Clone(e.Bytes())
	if _, err := Open(data[:len(data)-1]); !errors.Is(err, ErrTruncated) {
		t.Errorf("cut off: %v", err)
	}
	data[len(data)/2] ^= 1
	var corrupt *CorruptError
	if _, err := Open(data); !errors.As(err, &corrupt) {
		t.Errorf("a flipped bit: %v", err)
	}
}

// Moves are ordered as on disk by counting.
func TestRankOrder(t *testing.T) {
	const seed = 21
	rng := rand.New(rand.NewPCG(seed, 0))
	var w walker
	for n := range 400 {
		start := chess.StartBoard()
		if fen := seekStarts[n%5]; fen != "" {
			start = chesstest.Board(t, fen)
		}
		w.history = chess.NewHistory(start)
		for range rng.IntN(40) {
			if moves := w.generate(); len(moves) > 0 {
				w.history.Push(moves[rng.IntN(len(moves))])
			}
		}
		w.generate()
		want := slices.Clone(w.sortOrder())
		if got := w.diskOrder(); !slices.Equal(got, want) {
			t.Fatalf("seed %d: order %v, want %v: %s", seed, got, want, w.history.Board().FEN())
		}
	}
}

// Seeking does not allocate once the scratch has grown.
func TestSeekerAllocations(t *testing.T) {
	e := opened(t, randomGame(t, 4, "", 120))
	var s Seeker
	b := encoding.NewTrainBatch(8)
	i := 0
	if n := testing.AllocsPerRun(200, func() {
		b.Reset()
		if err := s.AppendRows(b, &e, []int{i % e.plies}); err != nil {
			t.Fatal(err)
		}
		i += 7
	}); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
}

// FuzzSeek: what Open and Decode accept can be sought everywhere, and what only
// Open accepts does not panic.
func FuzzSeek(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(byte(version), bodyOf(f, mustAppend(f, randomGame(f, seed, seekStarts[seed], 12))))
	}
	f.Add(byte(versionResults), bodyOf(f, mustAppend(f, rescoredGame(f))))
	f.Fuzz(func(t *testing.T, v byte, body []byte) {
		if len(body) > MaxBytes-64 {
			return
		}
		src := resealAs(v, body)
		e, err := Open(src)
		_, _, bad := Decode(src)
		if err != nil {
			if bad == nil {
				t.Fatalf("Decode accepts what Open refuses: %v", err)
			}
			return
		}
		s := Seeker{ShortTerm: .5}
		b := encoding.NewTrainBatch(1)
		for i := range min(e.plies, 40) {
			b.Reset()
			if err := s.AppendRows(b, &e, []int{i}); err != nil && bad == nil {
				t.Fatalf("ply %d of a sound game: %v", i, err)
			}
		}
	})
}

func BenchmarkSeek(b *testing.B) {
	var games []Encoded
	for seed := range uint64(50) {
		games = append(games, opened(b, randomGame(b, seed, "", 160)))
	}
	var s Seeker
	batch := encoding.NewTrainBatch(256)
	rng := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		if batch.N == 256 {
			batch.Reset()
		}
		e := &games[rng.IntN(len(games))]
		if err := s.AppendRows(batch, e, []int{rng.IntN(e.plies)}); err != nil {
			b.Fatal(err)
		}
	}
}
