package export

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// BenchmarkGames measures the exporters of games, in rows per second; bytes are
// those of the file.
func BenchmarkGames(b *testing.B) {
	games := anyGames(b, 60, rand.New(rand.NewPCG(1, 1)))
	rows := 0
	for _, g := range games {
		rows += g.NumRows()
	}
	for _, name := range []string{"npz", "pgn"} {
		b.Run(name, func(b *testing.B) {
			m := memfs.New()
			d, err := stage.Find(definitions(m), stage.KindExporter, name)
			if err != nil {
				b.Fatal(err)
			}
			e, err := d.MakeExporter(nil)
			if err != nil {
				b.Fatal(err)
			}
			var files []string
			for b.Loop() {
				if files, err = e.Export(context.Background(), gamesCheckpoint(games...), "out"); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
			data, err := fsx.ReadFile(m, files[0])
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(data))/float64(rows), "bytes/row")
		})
	}
}
