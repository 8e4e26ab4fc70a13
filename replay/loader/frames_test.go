package loader

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/record"
)

// randomRecord returns a game of random legal moves with random values: a pure
// function of its arguments. Kinds of policy change from ply to ply; a fifth of
// the positions is not meant for training where skips is set.
func randomRecord(t testing.TB, seed uint64, maxPlies int, skips bool) *record.Game {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 77))
	g := &record.Game{ID: record.GameID(9, 1, seed), NetID: "n", Ordinal: seed, End: record.EndUnknown, WhiteResult: int8(rng.IntN(3)) - 1}
	board := chess.StartBoard()
	var l chess.MoveList
	for len(g.Plies) < maxPlies {
		if board.GenerateMoves(&l); l.N == 0 {
			break
		}
		p := record.Ply{Move: l.Moves[rng.IntN(l.N)], Visits: uint32(rng.IntN(900)), Weight: .5 + rng.Float32(), KLD: rng.Float32()}
		for _, v := range []*encoding.QDM{&p.Root, &p.Best, &p.Played, &p.Orig} {
			if rng.IntN(5) == 0 {
				*v = encoding.UnknownQDM
				continue
			}
			d := rng.Float32()
			*v = encoding.QDM{Q: (rng.Float32()*2 - 1) * (1 - d), D: d, M: rng.Float32() * 200}
		}
		if rng.IntN(3) == 0 {
			p.Best = p.Played
		}
		switch kind := rng.IntN(5); {
		case skips && kind == 0:
			p.Weight = float32(rng.IntN(2)) // with a policy or without
			if p.Weight == 0 {
				p.Kind, p.Counts = record.PolicyCounts, randomCounts(rng, l.N)
			}
		case kind <= 3:
			p.Kind, p.Counts = record.PolicyCounts, randomCounts(rng, l.N)
		default:
			p.Kind, p.Probs = record.PolicyProbs, randomProbs(rng, l.N)
		}
		g.Plies = append(g.Plies, p)
		board.Make(p.Move)
	}
	if board.GenerateMoves(&l); l.N == 0 {
		g.End = record.EndStalemate
		if g.WhiteResult = 0; board.InCheck() {
			g.End, g.WhiteResult = record.EndCheckmate, 1
			if board.SideToMove() == chess.White {
				g.WhiteResult = -1
			}
		}
	}
	return g
}

func randomCounts(rng *rand.Rand, n int) []uint32 {
	counts := make([]uint32, n)
	for range 1 + rng.IntN(400) {
		counts[rng.IntN(1+rng.IntN(n))]++
	}
	return counts
}

func randomProbs(rng *rand.Rand, n int) []float32 {
	probs, sum := make([]float32, n), 0.0
	for j := range probs {
		probs[j] = float32(rng.ExpFloat64())
		sum += float64(probs[j])
	}
	for j := range probs {
		probs[j] = float32(float64(probs[j]) / sum)
	}
	return probs
}

// rowsOf returns all training rows of g by decoding and replaying it: the slow
// reference.
func rowsOf(t testing.TB, g *record.Game, shortTerm float64) (b *encoding.TrainBatch, plies []int) {
	t.Helper()
	for i := range g.Plies {
		if g.Plies[i].Trained() {
			plies = append(plies, i)
		}
	}
	b = encoding.NewTrainBatch(len(plies))
	r := record.Replayer{Extra: record.Extra{ShortTerm: shortTerm}}
	if err := r.AppendRows(b, g, plies); err != nil {
		t.Fatal(err)
	}
	return b, plies
}

// sameRow compares rows bit for bit; NaN equals NaN.
func sameRow(a *encoding.TrainBatch, i int, b *encoding.TrainBatch, j int) bool {
	same := a.Masks[i] == b.Masks[j] && a.Scalars[i] == b.Scalars[j] && math.Float32bits(a.Weight[i]) == math.Float32bits(b.Weight[j]) &&
		slices.Equal(a.LegalOf(i), b.LegalOf(j)) && slices.EqualFunc(a.PolicyOf(i), b.PolicyOf(j), sameFloat)
	for t, v := range a.Targets[i] {
		w := b.Targets[j][t]
		same = same && sameFloat(v.Q, w.Q) && sameFloat(v.D, w.D) && sameFloat(v.M, w.M)
	}
	return same
}

func sameFloat(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// Rows of random games, of starts with an en-passant right, castling of 960,
// promotions and long repetitions, come back from frames bit for bit.
func TestFrameKeepsRows(t *testing.T) {
	var p packer
	size, n := 0, 0
	for seed := range uint64(30) {
		want, _ := rowsOf(t, randomRecord(t, seed, 20+int(seed)*7, true), float64(seed%2)*.9)
		got := encoding.NewTrainBatch(0)
		for i := range want.N {
			f, err := p.pack(want, i, uint64(seed))
			if err != nil {
				t.Fatal(err)
			}
			if err := f.AppendTo(got); err != nil || !sameRow(got, i, want, i) {
				t.Fatalf("seed %d, row %d differs, %v", seed, i, err)
			}
			size, n = size+len(f.row), n+1
		}
	}
	t.Logf("%d rows, %.0f bytes a row in the mean", n, float64(size)/float64(n))
	for _, fen := range []string{
		"rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3",
		"1r3k1r/8/8/8/8/8/8/1R3K1R b HBhb - 99 9", "QQQQQQQQ/K7/8/8/8/8/5nrr/6rk w - - 0 1", "8/PPPPPPPP/8/k7/8/7K/8/8 w - - 0 1",
	} {
		board := chesstest.Board(t, fen)
		h := chess.NewHistory(board)
		var l chess.MoveList
		b, got := encoding.NewTrainBatch(1), encoding.NewTrainBatch(1)
		for i := range 12 {
			h.Board().GenerateMoves(&l)
			encoding.AppendTrainPosition(b, h, &l)
			f, err := p.pack(b, i, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.AppendTo(got); err != nil || !sameRow(got, i, b, i) {
				t.Fatalf("%s, row %d differs, %v", fen, i, err)
			}
			h.Push(l.Moves[(l.N-1)*(i%4/2)])
		}
	}
}

// What visits give is stored as visits: the start position with twenty moves
// has at most 160 bytes, most of them values.
func TestFrameSize(t *testing.T) {
	g := randomRecord(t, 1, 1, false)
	p := &g.Plies[0]
	p.Kind, p.Counts, p.Probs = record.PolicyCounts, make([]uint32, 20), nil
	for j := range p.Counts {
		p.Counts[j] = uint32(j * j)
	}
	p.Orig = encoding.UnknownQDM
	p.Root = encoding.QDM{Q: .25, D: .5, M: 30}
	p.Best, p.Played = p.Root, p.Root
	b, _ := rowsOf(t, g, 0)
	var pack packer
	f, err := pack.pack(b, 0, 2470) // 0 + 1 + 4 + ... + 361
	// head 11, values 2*12, moves 30, visits 20 and one more byte for 144 to 361, men 8+16
	if want := 11 + 24 + 30 + 20 + 8 + 8 + 16; err != nil || len(f.row) != want {
		t.Errorf("%d bytes, want %d, %v", len(f.row), want, err)
	}
	wrong, err := pack.pack(b, 0, 2471)
	if want := len(f.row) - 28 + 3 + 4*19; err != nil || len(wrong.row) != want { // a bit a move, a float32 a visited move
		t.Errorf("%d bytes with the wrong number of visits, want %d, %v", len(wrong.row), want, err)
	}
}

func TestFrameRefuses(t *testing.T) {
	row := func(change func(b *encoding.TrainBatch)) error {
		b, _ := rowsOf(t, randomRecord(t, 2, 30, false), 0)
		change(b)
		_, err := new(packer).pack(b, 20, 0)
		return err
	}
	if err := row(func(*encoding.TrainBatch) {}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(b *encoding.TrainBatch){
		"two men on a square":  func(b *encoding.TrainBatch) { b.Masks[20][3] |= b.Masks[20][5] },
		"a repetition in half": func(b *encoding.TrainBatch) { b.Masks[20][12] = 0xff },
		"a history full of men": func(b *encoding.TrainBatch) {
			b.Masks[20][13], b.Masks[20][14], b.Masks[20][15], b.Masks[20][16], b.Masks[20][17] = 1<<63-1, 1<<63-1, 1<<63-1, 1<<63-1, 1<<63-1
		},
		"a repetition of a 9000": func(b *encoding.TrainBatch) { b.Masks[20][103] = 9000 },
	} {
		if err := row(change); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, _ := rowsOf(t, randomRecord(t, 2, 30, false), 0)
	f, err := new(packer).pack(b, 20, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range f.row {
		n0, from := b.N, len(b.Legal)
		if err := (Frame{f.row[:n]}).AppendTo(b); !errors.Is(err, ErrFrame) || b.N != n0 || len(b.Legal) != from || len(b.LegalStart) != n0+1 {
			t.Fatalf("%d of %d bytes: %v, %d rows", n, len(f.row), err, b.N)
		}
	}
	if err := (Frame{f.row + "x"}).AppendTo(b); !errors.Is(err, ErrFrame) {
		t.Errorf("a byte more: %v", err)
	}
}

// FuzzFrame: bytes are refused, or give a row that packs to a frame of the same
// row.
func FuzzFrame(f *testing.F) {
	for seed := range uint64(3) {
		b, _ := rowsOf(f, randomRecord(f, seed, 25, false), .5)
		frame, err := new(packer).pack(b, b.N-1, 0)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(frame.row))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, again := encoding.NewTrainBatch(1), encoding.NewTrainBatch(1)
		if _, err := parseFrame(data, b); err != nil {
			if !errors.Is(err, ErrFrame) || b.N != 0 {
				t.Fatalf("%v, %d rows", err, b.N)
			}
			return
		}
		frame, err := new(packer).pack(b, 0, 0)
		if err != nil {
			return // toggles that put two men on a square of the history
		}
		if err := frame.AppendTo(again); err != nil || !sameRow(again, 0, b, 0) {
			t.Fatalf("packed again: %v", err)
		}
	})
}
