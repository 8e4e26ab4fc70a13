package loader

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/record"
)

// leelaFiles writes games as Leela's V6 chunks, each a .gz, and opens them.
func leelaFiles(t testing.TB, games []*record.Game) (sources []*leelaSource) {
	t.Helper()
	for _, g := range games {
		var chunk bytes.Buffer
		if err := lc0.WriteChunk(&chunk, g); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "game.gz")
		if err := os.WriteFile(path, chunk.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := lc0.OpenSource(path)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, &leelaSource{key: file.Key(), file: file})
	}
	return sources
}

// withVisits gives games the visits of their policies, so that these are found again.
func withVisits(games []*record.Game) []*record.Game {
	for _, g := range games {
		for k := range g.Plies {
			p := &g.Plies[k]
			p.Visits = 1
			for _, n := range p.Counts {
				p.Visits += n
			}
		}
	}
	return games
}

// BenchmarkTranscodeLeela reads, inflates and transcodes a position of a V6 chunk.
func BenchmarkTranscodeLeela(b *testing.B) {
	sources, n := leelaFiles(b, withVisits(searched(b, 20, 120))), 0
	for i := 0; b.Loop(); i++ {
		if n--; n > 0 {
			continue
		}
		g, err := sources[i%len(sources)].Game(0)
		if err != nil {
			b.Fatal(err)
		}
		rec, err := g.Record()
		if err != nil {
			b.Fatal(err)
		}
		t, err := Transcode(rec, PositionWeight{}, 0)
		if err != nil {
			b.Fatal(err)
		}
		g.Packed.(*LeelaChunk).Release()
		if n = t.NumPositions(); n == 0 {
			b.Fatal("empty")
		}
	}
}
