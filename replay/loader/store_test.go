package loader

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/record"
)

// searched returns random games as searches of 200 visits leave them.
func searched(t testing.TB, n, plies int) (games []*record.Game) {
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range n {
		g := randomRecord(t, uint64(1000+i), plies, false)
		for k := range g.Plies {
			p := &g.Plies[k]
			numLegal := max(len(p.Counts), len(p.Probs))
			p.Kind, p.Probs, p.Counts = record.PolicyCounts, nil, make([]uint32, numLegal)
			for range 200 {
				p.Counts[min(int(rng.ExpFloat64()*float64(numLegal)/5), numLegal-1)]++
			}
		}
		games = append(games, g)
	}
	return games
}

// A position that is buffered needs at most 300 bytes of heap, in the store and
// in the reservoir; what the store says of itself is the truth within 5 %.
func TestMemory(t *testing.T) {
	games := searched(t, 60, 120)
	heap := func() float64 {
		runtime.GC()
		runtime.GC() // what the pools of scratch let go
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	var chunks []*Transcoded
	said, n := 0, 0
	for range 4 {
		for _, g := range games {
			c, err := Transcode(g, PositionWeight{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, c)
			said, n = said+c.Bytes(), n+c.num
		}
	}
	used := heap() - before
	if each := used / float64(n); each > 300 {
		t.Errorf("store: %.0f bytes a position, at most 300", each)
	}
	if used < .95*float64(said) || used > 1.05*float64(said) {
		t.Errorf("store: %.0f bytes, it says %d", used, said)
	}
	before = heap()
	reservoir := make([]Frame, 0, n)
	r := new(Rebuilder)
	for _, c := range chunks {
		for k := range c.num {
			f, err := r.Frames(nil, c, []int{c.ply(k)})
			if err != nil {
				t.Fatal(err)
			}
			reservoir = append(reservoir, f[0])
		}
	}
	each := (heap() - before) / float64(n)
	if each > 300 {
		t.Errorf("reservoir: %.0f bytes a position, at most 300", each)
	}
	t.Logf("%d positions: store %.0f bytes each, reservoir %.0f", n, used/float64(n), each)
	runtime.KeepAlive(reservoir)
	runtime.KeepAlive(chunks)
	runtime.KeepAlive(games)
}

func TestTranscodedErrors(t *testing.T) {
	g := randomRecord(t, 1, 10, false)
	c, err := Transcode(g, PositionWeight{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, ply := range []int{-1, 10} {
		if _, err := new(Rebuilder).Frames(nil, c, []int{ply}); err == nil {
			t.Errorf("position %d of 10 was rebuilt", ply)
		}
	}
	g.Plies[3].Weight = -1
	if _, err := Transcode(g, PositionWeight{}, 0); err == nil {
		t.Error("an invalid game was transcoded")
	}
}

// Leela's own files give straight the rows that decoding their records field by
// field gives, and the game made of them the same inputs.
func TestLeelaFiles(t *testing.T) {
	src, err := lc0.OpenSource(golden.Path(t, "leela", "games.tar"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for i := range src.Len() {
		raw, err := src.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		records, err := lc0.DecodeRecords(raw)
		if err != nil {
			t.Fatal(err)
		}
		c := NewLeelaChunk(raw, 0)
		frames, err := c.Frames()
		if err != nil {
			t.Fatal(err)
		}
		got := encoding.NewTrainBatch(len(frames))
		for _, f := range frames {
			if err := f.AppendTo(got); err != nil {
				t.Fatal(err)
			}
		}
		checkV6Rows(t, src.Name(i), records, got)
		rows += got.N
		rec, err := c.Record()
		if err != nil {
			t.Fatal(err)
		}
		want, _ := rowsOf(t, rec, 0)
		if want.N != got.N {
			t.Fatalf("%s: %d rows of the game, %d of its records", src.Name(i), want.N, got.N)
		}
		for k := range got.N {
			if got.Masks[k] != want.Masks[k] || got.Scalars[k] != want.Scalars[k] || !samePolicy(got, k, want, k) {
				t.Fatalf("%s: row %d of the game differs", src.Name(i), k)
			}
		}
	}
	if src.Len() != 10 || rows < 500 {
		t.Errorf("%d chunks, %d rows", src.Len(), rows)
	}
}

// BenchmarkRebuild makes a frame of a uniformly random position of a store and
// puts it into a batch: the work of RL sampling without queues.
func BenchmarkRebuild(b *testing.B) {
	var chunks []*Transcoded
	for _, g := range searched(b, 100, 120) {
		c, err := Transcode(g, PositionWeight{}, 0)
		if err != nil {
			b.Fatal(err)
		}
		chunks = append(chunks, c)
	}
	r, rng := new(Rebuilder), rand.New(rand.NewPCG(1, 1))
	batch := encoding.NewTrainBatch(256)
	frames, plies := make([]Frame, 0, 1), make([]int, 1)
	for b.Loop() {
		if batch.N == 256 {
			batch.Reset()
		}
		c := chunks[rng.IntN(len(chunks))]
		plies[0] = c.ply(rng.IntN(c.num))
		var err error
		if frames, err = r.Frames(frames[:0], c, plies); err != nil {
			b.Fatal(err)
		}
		if err := frames[0].AppendTo(batch); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTranscode transcodes a position.
func BenchmarkTranscode(b *testing.B) {
	games := searched(b, 20, 120)
	n := 0
	for i := 0; b.Loop(); i++ {
		if n--; n > 0 {
			continue
		}
		g := games[i%len(games)]
		if n = len(g.Plies); n == 0 {
			b.Fatal("empty")
		}
		if _, err := Transcode(g, PositionWeight{}, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkV6Rows makes a frame of an inflated V6 record.
func BenchmarkV6Rows(b *testing.B) {
	g := searched(b, 1, 120)[0]
	raw, err := lc0.AppendRecords(nil, g, lc0.Form{Version: 6})
	if err != nil {
		b.Fatal(err)
	}
	rows, n := new(leelaRows), 0
	var frames []Frame
	for b.Loop() {
		if n--; n > 0 {
			continue
		}
		if frames, err = rows.frames(frames[:0], raw); err != nil {
			b.Fatal(err)
		}
		n = len(frames)
	}
	if slices.Contains(frames, Frame{}) {
		b.Fatal("an empty frame")
	}
}
