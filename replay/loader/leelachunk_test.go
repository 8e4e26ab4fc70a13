package loader

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
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
		filetest.Write(t, path, chunk.Bytes())
		file, err := lc0.OpenSource(path)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, &leelaSource{key: fmt.Sprintf("%x", g.ID), file: file})
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

// sameChunk holds a chunk of a file against the same bytes that nobody takes back.
func sameChunk(t *testing.T, name string, got Packed, want *LeelaChunk) {
	t.Helper()
	frames, err := got.(*LeelaChunk).Frames()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	rec, err := got.Record()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	wantFrames, err := want.Frames()
	wantRec, err2 := want.Record()
	if err := errors.Join(err, err2); err != nil {
		t.Error(err)
		return
	}
	if !slices.Equal(frames, wantFrames) || len(frames) == 0 {
		t.Errorf("%s: %d frames differ from %d", name, len(frames), len(wantFrames))
	}
	a, err := record.Append(nil, rec)
	b, err2 := record.Append(nil, wantRec)
	if err := errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
		t.Errorf("%s: the games differ (%v)", name, err)
	}
}

// Chunks whose memory serves other chunks meanwhile stay what they are, in any
// order of use and from several goroutines.
func TestLeelaChunkRelease(t *testing.T) {
	sources := leelaFiles(t, withVisits(searched(t, 6, 40)))
	want := make([]*LeelaChunk, len(sources))
	for k, s := range sources {
		raw, err := s.file.Chunk(0)
		if err != nil {
			t.Fatal(err)
		}
		want[k] = NewLeelaChunk(raw, 0)
		want[k].Release() // has no file: keeps its bytes
	}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(5, uint64(worker)))
			for range 12 {
				k := rng.IntN(len(sources))
				g, err := sources[k].Game(0)
				if err != nil {
					t.Error(err)
					return
				}
				c := g.Packed.(*LeelaChunk)
				switch rng.IntN(3) {
				case 0:
					c.Release()
				case 1: // two users of one chunk
					var other sync.WaitGroup
					other.Go(func() { sameChunk(t, "beside", c, want[k]) })
					defer other.Wait()
				}
				sameChunk(t, "alone", c, want[k])
				c.Release()
				sameChunk(t, "again", c, want[k])
			}
		})
	}
	group.Wait()
}

// A file that is gone when a released chunk is wanted again is an error that
// names it; frames that were made stay.
func TestLeelaChunkGone(t *testing.T) {
	s := leelaFiles(t, withVisits(searched(t, 1, 20)))[0]
	var chunks [2]*LeelaChunk
	for i := range chunks {
		g, err := s.Game(0)
		if err != nil {
			t.Fatal(err)
		}
		chunks[i] = g.Packed.(*LeelaChunk)
	}
	frames, err := chunks[1].Frames()
	if err != nil || len(frames) == 0 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	chunks[0].Release()
	if err := os.Remove(s.file.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := chunks[0].Record(); err == nil || !strings.Contains(err.Error(), s.file.Path) {
		t.Errorf("game: %v", err)
	}
	if _, err := chunks[0].Frames(); err == nil || !strings.Contains(err.Error(), s.file.Path) {
		t.Errorf("frames: %v", err)
	}
	if again, err := chunks[1].Frames(); err != nil || again[3] != frames[3] {
		t.Errorf("frames that are there: %v", err)
	}
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
		if n = t.num; n == 0 {
			b.Fatal("empty")
		}
	}
}

// NewLeelaChunk returns the chunk with the given records, which it keeps for
// good.
func NewLeelaChunk(raw []byte, shortTerm float64) *LeelaChunk {
	return &LeelaChunk{raw: raw, shortTerm: shortTerm}
}
