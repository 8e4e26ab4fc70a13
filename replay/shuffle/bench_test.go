package shuffle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
)

// benchRun writes 300 games of 80 plies in 3 files and returns options.
func benchRun(b *testing.B) Options {
	dir := b.TempDir()
	for k := range uint64(3) {
		writeGames(b, fsx.OS, filepath.Join(dir, fmt.Sprintf("selfplay/net%d/p0", k)), testGames(k*100, k*100+100, 80))
	}
	o := testOptions(fsx.OS)
	o.InputDirs, o.OutputDir = []string{filepath.Join(dir, "selfplay")}, filepath.Join(dir, "shuffled")
	o.RowsPerFile, o.Threads = 7000, 1
	return o
}

// BenchmarkRun counts, spreads, permutes and writes; ns/row is of one thread.
func BenchmarkRun(b *testing.B) {
	o := benchRun(b)
	rows := int64(0)
	for b.Loop() {
		m, err := Run(context.Background(), o)
		if err != nil {
			b.Fatal(err)
		}
		rows += m.TrainRows + m.HeldRows
		b.StopTimer()
		if err := fsx.RemoveAll(fsx.OS, o.OutputDir); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}

// BenchmarkSource reads rows from files into batches of 256.
func BenchmarkSource(b *testing.B) {
	o := benchRun(b)
	if _, err := Run(context.Background(), o); err != nil {
		b.Fatal(err)
	}
	src, err := OpenLatest(fsx.OS, o.OutputDir)
	if err != nil {
		b.Fatal(err)
	}
	src.Repeat = true
	batch, rows := encoding.NewTrainBatch(256), 0
	for b.Loop() {
		batch.Reset()
		if err := src.Next(context.Background(), batch); err != nil && !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		rows += batch.N
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}
