package host

import (
	"testing"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// BenchmarkRescore measures one stream to a plugin, games there and back: MB/s of
// games sent and rows/s. same leaves games as they are, halve changes each row.
func BenchmarkRescore(b *testing.B) {
	for _, name := range []string{"same", "halve"} {
		b.Run(name, func(b *testing.B) {
			h := newBench(b, []string{name}, nil)
			r := h.rescorer(name)
			games := randomGames(b, 500)
			bytes, rows := 0, 0
			for _, g := range games {
				bytes, rows = bytes+api.GameSize(g), rows+len(g.Plies)
			}
			b.SetBytes(int64(bytes))
			for b.Loop() {
				if _, err := r.RescoreBatch(b.Context(), games); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkStart measures start, description, opening and stop of a program of
// the size of this one.
func BenchmarkStart(b *testing.B) {
	h := newBench(b, []string{"same"}, nil)
	for b.Loop() {
		r, err := h.Rescorer(b.Context(), stage.Choice{Name: "same"})
		if err != nil {
			b.Fatal(err)
		}
		if err := h.Release(r); err != nil {
			b.Fatal(err)
		}
	}
}
