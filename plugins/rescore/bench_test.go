package rescore

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// BenchmarkRescore measures the stages on a game of 80 plies that ends in a
// blunder, validation included, as a chain runs them.
func BenchmarkRescore(b *testing.B) {
	g := randomMoves(b, rand.New(rand.NewPCG(1, 1)), "", 80)
	for i := range g.Plies {
		v := encoding.QDM{Q: 0.25, D: 0.5, M: 40}
		g.Plies[i].Root, g.Plies[i].Best, g.Plies[i].Played = v, v, v
	}
	searched(g, len(g.Plies)-2, encoding.QDM{Q: 0.5, M: 9}, encoding.QDM{Q: -0.5, M: 9})
	for name, c := range map[string]Chain{
		"identity":  {Identity{}},
		"deblunder": {Deblunder{Threshold: 0.1, Width: 0.06}},
		"syzygy":    {Syzygy{listed{}}},
	} {
		b.Run(name, func(b *testing.B) { benchmarkChain(b, c, g) })
	}
}

func benchmarkChain(b *testing.B, c Chain, g *record.Game) {
	for b.Loop() {
		if _, err := c.Rescore(context.Background(), g); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(g.Plies)), "ns/position")
}
