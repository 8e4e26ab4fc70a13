package shuffle

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// testBatch holds every position of some games.
func testBatch(t testing.TB, games []*record.Game) (b *encoding.TrainBatch, counts [][]uint32) {
	t.Helper()
	b = encoding.NewTrainBatch(64)
	r := record.Replayer{Extra: record.Extra{ShortTerm: 5. / 6, Ahead: true}}
	for _, g := range games {
		for i := range g.Plies {
			if err := r.AppendRow(b, g, i); err != nil {
				t.Fatal(err)
			}
			counts = append(counts, g.Plies[i].Counts)
		}
	}
	return b, counts
}

func TestRowRoundTrip(t *testing.T) {
	b, counts := testBatch(t, testGames(0, 60, 60))
	for i, p := range []chess.PieceType{chess.Pawn, chess.Bishop, chess.Rook, chess.Queen} {
		b.Ahead[i].Promotion = p
	}
	out := encoding.NewTrainBatch(8)
	bytes, withCounts := 0, 0
	for i := range b.N {
		row, err := AppendRow(nil, b, i, counts[i])
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(row)
		if row[0]&flagCounts != 0 {
			withCounts++
		}
		if row[0]&flagRaw != 0 {
			t.Fatalf("row %d of a game has raw masks", i)
		}
		if err := DecodeRow(out, row); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
	}
	if out.N != b.N || withCounts == 0 {
		t.Fatalf("%d rows, want %d; %d with counts", out.N, b.N, withCounts)
	}
	for i := range b.N {
		if got, want := rowString(out, i), rowString(b, i); got != want {
			t.Fatalf("row %d:\n%x\nwant\n%x", i, got, want)
		}
	}
	if mean := float64(bytes) / float64(b.N); mean > 300 {
		t.Errorf("%.0f bytes a row, want at most 300", mean)
	} else {
		t.Logf("%.1f bytes a row, %d rows", mean, b.N)
	}
}

// TestRowOddities packs rows that no game gives: masks that are no boards,
// odd boards, numbers at their ends. Random ones, the seed is printed.
func TestRowOddities(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for k := range 2000 {
		b := encoding.NewTrainBatch(1)
		n := rng.IntN(256)
		b.Grow(n)
		for m := range b.Masks[0] {
			if step := m / encoding.PlanesPerBoard; step < k%9 && m%encoding.PlanesPerBoard < numPieces {
				b.Masks[0][m] = rng.Uint64() & (0x0101010101010101 << (m % 8)) // often two pieces on a square
				if k%2 == 0 {
					b.Masks[0][m] &= 1<<(5*(m%13)) | 1<<(5*(m%13)+1) // never
				}
			} else if rng.IntN(8) == 0 && m%13 == numPieces {
				b.Masks[0][m] = [2]uint64{allOnes, 5}[k%3&1]
			}
		}
		b.Scalars[0] = encoding.Scalars{OurOO: uint8(k & 1), TheirOOO: uint8(k >> 1 & 1), Rule50: uint8(rng.IntN(256))}
		for j := range n {
			b.Legal[j] = uint16(rng.IntN(encoding.NumPolicy))
			b.Policy[j] = max(0, rng.Float32()-0.5)
		}
		for v := range b.Targets[0] {
			b.Targets[0][v] = oddQDM(rng)
		}
		b.Weight[0] = []float32{0, 1, math.MaxFloat32, 1e-40}[k%4]
		row, err := AppendRow(nil, b, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := encoding.NewTrainBatch(1)
		if err := DecodeRow(out, row); err != nil || len(row) > maxRowBytes {
			t.Fatalf("seed %d, row %d of %d bytes: %v", seed, k, len(row), err)
		}
		if got, want := rowString(out, 0), rowString(b, 0); got != want {
			t.Fatalf("seed %d, row %d:\n%x\nwant\n%x", seed, k, got, want)
		}
	}
}

func oddQDM(rng *rand.Rand) encoding.QDM {
	pool := []float32{0, 1, -1, float32(math.Copysign(0, -1)), 0.5, float32(math.NaN()), 65535, 65536, float32(math.Inf(1))}
	pick := func() float32 { return pool[rng.IntN(len(pool))] }
	return encoding.QDM{Q: pick(), D: pick(), M: pick()}
}

func TestRowRefuses(t *testing.T) {
	b := encoding.NewTrainBatch(1)
	b.Grow(256)
	if _, err := AppendRow(nil, b, 0, nil); err == nil {
		t.Error("256 legal moves are packed")
	}
	b.Reset()
	b.Grow(1)
	b.Scalars[0].OurOO = 2
	if _, err := AppendRow(nil, b, 0, nil); err == nil {
		t.Error("a castling right of 2 is packed")
	}
}

// TestRowDamage cuts a row at every byte and adds one: all are errors, and the
// batch stays as it was.
func TestRowDamage(t *testing.T) {
	b, counts := testBatch(t, testGames(0, 2, 20))
	out := encoding.NewTrainBatch(4)
	good, err := AppendRow(nil, b, 3, counts[3])
	if err != nil {
		t.Fatal(err)
	}
	if err := DecodeRow(out, good); err != nil {
		t.Fatal(err)
	}
	want := rowString(out, 0)
	for n := range len(good) + 1 {
		data := good[:n:n]
		if n == len(good) {
			data = append(data, 0)
		}
		if err := DecodeRow(out, data); err == nil {
			t.Errorf("%d of %d bytes are read", n, len(good))
		}
		if out.N != 1 || len(out.LegalStart) != 2 || len(out.Legal) != len(out.Policy) || rowString(out, 0) != want {
			t.Fatalf("cut at %d: the batch changed", n)
		}
	}
}

func FuzzDecodeRow(f *testing.F) {
	b, counts := testBatch(f, testGames(0, 5, 12))
	for i := range b.N {
		row, err := AppendRow(nil, b, i, counts[i])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(row)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out := encoding.NewTrainBatch(1)
		if DecodeRow(out, data) != nil {
			if out.N != 0 || len(out.Legal) != 0 {
				t.Fatal("a bad row stays in the batch")
			}
			return
		}
		row, err := AppendRow(nil, out, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		again := encoding.NewTrainBatch(1)
		if err := DecodeRow(again, row); err != nil || rowString(again, 0) != rowString(out, 0) {
			t.Fatalf("packed again it is another row: %v", err)
		}
	})
}

func BenchmarkDecodeRow(b *testing.B) {
	batch, counts := testBatch(b, testGames(0, 20, 100))
	rows := make([][]byte, batch.N)
	for i := range rows {
		rows[i], _ = AppendRow(nil, batch, i, counts[i])
	}
	out := encoding.NewTrainBatch(256)
	n := 0
	for b.Loop() {
		if n%256 == 0 {
			out.Reset()
		}
		if err := DecodeRow(out, rows[n%len(rows)]); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

func BenchmarkAppendRow(b *testing.B) {
	batch, counts := testBatch(b, testGames(0, 20, 100))
	var row []byte
	bytes, n := 0, 0
	for b.Loop() {
		i := n % batch.N
		row, _ = AppendRow(row[:0], batch, i, counts[i])
		bytes += len(row)
		n++
	}
	b.ReportMetric(float64(bytes)/float64(n), "bytes/row")
}
