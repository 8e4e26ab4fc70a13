package lc0

import (
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// benchChunk is a chunk of 100 plies, and its records.
func benchChunk(b *testing.B) (chunk, raw []byte, plies int) {
	b.Helper()
	g := line(rand.New(rand.NewPCG(1, 2)), chess.StartBoard(), 100, 0)
	raw = bytesOf(b, g, Form{Version: v6Version})
	return zipped(b, raw), raw, len(g.Plies)
}

func BenchmarkInflate(b *testing.B) {
	chunk, raw, plies := benchChunk(b)
	dst := make([]byte, 0, len(raw)+1)
	for b.Loop() {
		if _, err := inflate(dst, chunk, len(raw)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*plies), "ns/position")
}

func BenchmarkDecodeRecords(b *testing.B) {
	_, raw, plies := benchChunk(b)
	for b.Loop() {
		if _, err := DecodeRecords(raw); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*plies), "ns/position")
}

func BenchmarkGame(b *testing.B) {
	_, raw, plies := benchChunk(b)
	records, err := DecodeRecords(raw)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Game(records); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*plies), "ns/position")
}
