package sample

import (
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// benchGames returns n games of 80 rows.
func benchGames(n int) *testGames {
	rng, l := rand.New(rand.NewPCG(3, 3)), &testGames{}
	for seq := range uint64(n) {
		g := testGame{info: stage.GameInfo{Seq: seq, Plies: 80}}
		for i := range g.info.ID {
			g.info.ID[i] = byte(rng.Uint32())
		}
		for ply := range int32(80) {
			g.rows = append(g.rows, stage.RowInfo{Ply: ply, Weight: stage.WeightUnit/2 + rng.Uint64N(stage.WeightUnit)})
			g.stats = append(g.stats, stage.RowStats{QDiff: rng.Float32() / 2, KLD: rng.Float32(), Visits: 800})
		}
		l.add(g)
	}
	return l
}

const (
	benchWindow = 5000 // games: 400 000 rows
	benchBatch  = 256
)

// BenchmarkSample draws 256 rows from a window of 400 000 that stays.
func BenchmarkSample(b *testing.B) {
	w := benchGames(benchWindow).window(0, benchWindow)
	for _, subject := range subjects {
		b.Run(subject.String(), func(b *testing.B) {
			s := subject.sampler(b, 1)
			refs, err := drawn(b, s, w, benchBatch), error(nil)
			for b.Loop() {
				if refs, err = s.next(w, benchBatch, refs[:0]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchBatch), "ns/row")
		})
	}
}

// BenchmarkSlide draws 256 rows after a game of 80 rows has entered a window of
// 400 000 rows and another has left it.
func BenchmarkSlide(b *testing.B) {
	const games = 2 * benchWindow
	l := benchGames(games)
	for _, subject := range subjects {
		b.Run(subject.String(), func(b *testing.B) {
			s := subject.sampler(b, 1)
			refs, err := drawn(b, s, l.window(0, benchWindow), benchBatch), error(nil)
			for lo := 1; b.Loop(); lo++ {
				if lo+benchWindow > games {
					lo = 0 // one table in 5000 is made anew
				}
				if refs, err = s.next(l.window(lo, lo+benchWindow), benchBatch, refs[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFirst takes a window of 400 000 rows in.
func BenchmarkFirst(b *testing.B) {
	w := benchGames(benchWindow).window(0, benchWindow)
	for _, subject := range subjects {
		b.Run(subject.String(), func(b *testing.B) {
			for b.Loop() {
				drawn(b, subject.sampler(b, 1), w, 1)
			}
		})
	}
}
