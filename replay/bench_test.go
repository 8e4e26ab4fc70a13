package replay

import (
	"context"
	"fmt"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// BenchmarkSourceNext draws batches of 64 rows from 2000 games of 80 plies, with
// their contents and by number.
func BenchmarkSourceNext(b *testing.B) {
	b.Run("contents", func(b *testing.B) { benchmarkSource(b, 0) })
	b.Run("numbers", func(b *testing.B) { benchmarkSource(b, 1<<30) })
}

func benchmarkSource(b *testing.B, keep int) {
	w := NewWindow(1 << 30)
	for i := range uint64(2000) {
		g := testGame(i%50, 80)
		g.ID[0], g.ID[1] = byte(i), byte(i>>8)
		w.Add(g)
	}
	src := NewSource(w, sample.NewUniform(), 1, 1)
	src.Keep = keep
	batch := encoding.NewTrainBatch(64)
	b.ReportAllocs()
	for b.Loop() {
		batch.Reset()
		if err := src.Next(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1000/float64(b.N*64), "us/row")
}

// BenchmarkSampler draws rows from windows of several sizes.
func BenchmarkSampler(b *testing.B) {
	for _, games := range []int{100, 10_000} {
		w := NewWindow(1 << 30)
		g := testGame(1, 80)
		for i := range games {
			c := *g
			c.ID[0], c.ID[1] = byte(i), byte(i>>8)
			w.Add(&c)
		}
		b.Run(fmt.Sprint(w.Rows(), " rows"), func(b *testing.B) {
			u := sample.NewUniform()
			d := stage.Draw{Index: w.View(), Rows: 1}
			for b.Loop() {
				var err error
				if _, d.State, err = u.Sample(context.Background(), d, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWriter appends and syncs groups of 64 games of 80 plies.
func BenchmarkWriter(b *testing.B) {
	w := NewWriter(fsx.OS, b.TempDir(), WriterOptions{Reserve: smallReserve})
	games := testGames(0, 64, 80)
	for b.Loop() {
		for _, g := range games {
			if err := w.Append(g); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(games)), "us/game")
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkDecodeChunk reads a chunk of 64 games of 80 plies.
func BenchmarkDecodeChunk(b *testing.B) {
	data := writeChunk(b, testGames(0, 64, 80))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, _, err := DecodeChunk("x", data); err != nil {
			b.Fatal(err)
		}
	}
}
