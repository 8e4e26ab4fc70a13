package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/record"
)

// memorySource is a source of games in memory; a nil game cannot be read.
type memorySource struct {
	key   string
	games []*record.Game
}

func (s *memorySource) Key() string { return s.key }
func (s *memorySource) Len() int    { return len(s.games) }
func (s *memorySource) Game(i int) (*Game, error) {
	if s.games[i] == nil {
		return nil, errors.New("damaged")
	}
	return &Game{Key: ChunkHash(s.key, i), Source: s.key, Index: i, Rec: s.games[i]}, nil
}

// memoryEvent is a source of n games with ordinals from from on.
func memoryEvent(phase Phase, key string, from, n int) SourceEvent {
	s := &memorySource{key: key}
	for i := range n {
		s.games = append(s.games, &record.Game{Ordinal: uint64(from + i)})
	}
	return SourceEvent{File: File{Key: key, Phase: phase}, Source: s}
}

var doneEvent = SourceEvent{File: File{Phase: InitialDone}}

// extract runs an extractor and returns it with its queues.
func extract(t *testing.T, epochs int) (x *simpleChunkExtractor, in *Queue[SourceEvent], next func() string, end func() error) {
	t.Helper()
	c := extractor("all", "in", epochs)
	in = NewQueue[SourceEvent](100, Block)
	out := NewQueue[*Game](1, Block)
	s, err := newSimpleChunkExtractor(&build{config: &c, options: &Options{}, quarantine: &Quarantine{}, in: []anyQueue{in}, out: []anyQueue{out}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		defer out.Close()
		done <- s.Run(ctx)
	}()
	next = func() string {
		t.Helper()
		g, err := out.Get(ctx)
		if errors.Is(err, io.EOF) {
			return "end"
		}
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(g, " ", g.Rec.Ordinal)
	}
	return s.(*simpleChunkExtractor), in, next, func() error { cancel(); return <-done }
}

func expectNext(t *testing.T, next func() string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := next(); got != w {
			t.Errorf("got %q, want %q", got, w)
		}
	}
}

func put[T any](t *testing.T, q *Queue[T], items ...T) {
	t.Helper()
	for _, v := range items {
		if err := q.Put(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
}

// Two epochs: sources in the order in which they came, then all again, then the
// end; a bad chunk is left out each time and counts once in the quarantine.
func TestExtractorEpochs(t *testing.T) {
	x, in, next, end := extract(t, 2)
	a := memoryEvent(Initial, "a", 0, 3)
	a.Source.(*memorySource).games[1] = nil
	put(t, in, a, memoryEvent(Initial, "b", 10, 1), doneEvent)
	expectNext(t, next, "a[0] 0", "a[2] 2", "b[0] 10")
	put(t, in, memoryEvent(Added, "c", 20, 1))
	expectNext(t, next, "c[0] 20")
	in.Close()
	expectNext(t, next, "a[0] 0", "a[2] 2", "b[0] 10", "c[0] 20", "end")
	if err := end(); err != nil {
		t.Error(err)
	}
	if list, n := x.quarantine.List(); n != 1 || list[0].Name != "a[1]" {
		t.Errorf("%v", list)
	}
}

// A source that is replaced goes on where it was, one that is removed is left
// out; without end it starts over, but not in a pool without chunks.
func TestExtractorReplaced(t *testing.T) {
	_, in, next, end := extract(t, 0)
	put(t, in, doneEvent, memoryEvent(Added, "a", 0, 1), memoryEvent(Replaced, "a", 0, 2))
	expectNext(t, next, "a[0] 0", "a[1] 1", "a[0] 0")
	gone := memoryEvent(Removed, "a", 0, 0)
	gone.Source = nil
	put(t, in, gone, memoryEvent(Added, "b", 30, 1))
	for next() != "b[0] 30" { // what was on the way
	}
	expectNext(t, next, "b[0] 30", "b[0] 30")
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Input is taken in although nobody reads the output: a splitter before it is
// never held up.
func TestExtractorTakesIn(t *testing.T) {
	x, in, _, end := extract(t, 1)
	for i := range 500 { // five times what the queue holds
		put(t, in, memoryEvent(Initial, fmt.Sprint(i), i, 2))
	}
	if n := in.Stats().Puts; n != 500 {
		t.Errorf("%d", n)
	}
	_ = end()
	if n := x.Stats()[0].Value; n > 2 {
		t.Errorf("%v chunks went into a queue of one", n)
	}
}

// Every chunk of every source goes to one output, the one of its hash, with its
// number; markers and removals go to all.
func TestSplitter(t *testing.T) {
	c := splitter("split", "in", "a", "b", "c")
	c.ChunkSourceSplitter.Outputs[1].Weight = 0
	in := NewQueue[SourceEvent](10, Block)
	b := &build{config: &c, in: []anyQueue{in}}
	for range 3 {
		b.out = append(b.out, NewQueue[SourceEvent](10, Block))
	}
	s, err := newChunkSourceSplitter(b)
	if err != nil {
		t.Fatal(err)
	}
	gone := SourceEvent{File: File{Key: "x", Phase: Removed}}
	put(t, in, memoryEvent(Initial, "x", 0, 200), doneEvent, gone)
	in.Close()
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for i, q := range b.out {
		q.Close()
		events := drain(t, q.(*Queue[SourceEvent]))
		if i == 1 {
			if len(events) != 2 {
				t.Errorf("the output without weight got %d events", len(events))
			}
			continue
		}
		if len(events) != 3 || events[1].File.Phase != InitialDone || events[2].File.Phase != Removed || events[2].Source != nil {
			t.Fatalf("output %d: %+v", i, events)
		}
		src := events[0].Source
		if src.Key() != "x" {
			t.Errorf("source %s", src.Key())
		}
		for k := range src.Len() {
			g, err := src.Game(k)
			if err != nil || seen[g.Index] || g.Rec.Ordinal != uint64(g.Index) || g.Key != ChunkHash("x", g.Index) || splitOf(g.Key, []float64{1, 0, 1}) != i {
				t.Errorf("output %d, chunk %d: %+v, %v", i, k, g, err)
			}
			seen[g.Index] = true
		}
	}
	if len(seen) != 200 {
		t.Errorf("%d of 200 chunks", len(seen))
	}
}

// All frames of all inputs arrive, and it ends when all have ended.
func TestJoin(t *testing.T) {
	var frames []Frame
	b, _ := rowsOf(t, randomRecord(t, 1, 30, false), 0)
	p := &packer{}
	for i := range b.N {
		f, err := p.pack(b, i, 0)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, f)
	}
	var in []anyQueue
	for i := range 3 {
		q := NewQueue[Frame](100, Block)
		put(t, q, frames[i*5:i*5+5]...)
		q.Close()
		in = append(in, q)
	}
	out := NewQueue[Frame](100, Block)
	if err := (&joinPositions{&build{in: in, out: []anyQueue{out}}}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	out.Close()
	got := drain(t, out)
	byRow := func(a, b Frame) int { return strings.Compare(a.row, b.row) }
	slices.SortFunc(got, byRow)
	want := slices.SortedFunc(slices.Values(frames[:15]), byRow)
	if !slices.Equal(got, want) {
		t.Errorf("%d frames, want %d", len(got), len(want))
	}
}

// A frame that is damaged is counted and leaves no trace in its batch.
func TestTensorGeneratorBadFrame(t *testing.T) {
	b, _ := rowsOf(t, randomRecord(t, 1, 10, false), 0)
	p := &packer{}
	f, err := p.pack(b, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := tensors("train", "in", 2)
	in, out := NewQueue[Frame](10, Block), NewQueue[*Batch](10, Block)
	bad := Frame{f.row[:len(f.row)-1]}
	put(t, in, f, bad, f, bad, f)
	in.Close()
	q := &Quarantine{}
	l := mustNew(t, chain(t.TempDir(), nil), Options{})
	s, err := newTensorGenerator(&build{config: &c, quarantine: q, batches: l.batches, in: []anyQueue{in}, out: []anyQueue{out}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	out.Close()
	var sizes []int
	for _, batch := range drain(t, out) {
		sizes = append(sizes, batch.N)
		for i := range batch.N {
			if !sameRow(batch, i, b, 0) {
				t.Error("another row")
			}
		}
	}
	if n := s.Stats()[2].Value; !slices.Equal(sizes, []int{2, 1}) || n != 2 {
		t.Errorf("batches of %v rows, %v bad frames", sizes, n)
	}
}

// Leela's files: the rows of a .gz are those of the game that it was made of,
// by the straight way, and by way of the game where a rescorer asks for it.
func TestLeelaSource(t *testing.T) {
	dir := t.TempDir()
	games := randomGames(t, 0, 4)
	for i, g := range games {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("game%d.gz", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(lc0.WriteChunk(f, g), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	straight, n := readAll(t, mustNew(t, chain(dir, func(c *Config) {
		c.Stages = slices.Delete(c.Stages, 3, 4)
		c.Stages[3].Inputs = []string{"all"}
	}), Options{}).Next, 16)
	by, m := readAll(t, mustNew(t, chain(dir, func(c *Config) { c.Stages[3].ChunkRescorer.Rescorers[0] = refusing{} }), Options{}).Next, 16)
	if n == 0 || n != m {
		t.Fatalf("%d and %d rows", n, m)
	}
	same(t, "by way of the game", by, straight)
	want := 0
	for _, g := range games {
		b := encoding.NewTrainBatch(1)
		var r record.Replayer
		for ply := range g.Plies {
			if g.Plies[ply].Kind != record.PolicyNone {
				if err := r.AppendRow(b, g, ply); err != nil {
					t.Fatal(err)
				}
				want++
			}
		}
	}
	if n > want || n < want/2 {
		t.Errorf("%d rows of %d positions with a policy", n, want)
	}
}

func TestQuarantine(t *testing.T) {
	q := &Quarantine{}
	for range 2 {
		q.Add("a.tar[3]", errors.New("x"))
		q.Add("a.tar", errors.New("y"))
		q.Add("a.tar.gz", errors.New("z"))
	}
	if list, n := q.List(); n != 3 || len(list) != 3 || list[0] != (Quarantined{"a.tar", "y"}) {
		t.Errorf("%d, %v", n, list)
	}
	q.Release("a.tar")
	if list, n := q.List(); n != 3 || len(list) != 1 || list[0].Name != "a.tar.gz" {
		t.Errorf("%d, %v", n, list)
	}
	for i := range 2000 {
		q.Add(fmt.Sprint(i), errors.New("x"))
	}
	if list, n := q.List(); n != 2003 || len(list) != maxQuarantined {
		t.Errorf("%d, %d entries", n, len(list))
	}
}

// Behind a splitter a chunk has the name and the key of its place in the file,
// whether the pool has it in its store or reads it anew; with shares of a share
// too.
func TestSplitKeepsNames(t *testing.T) {
	dir := t.TempDir()
	path := writeGames(t, dir, randomGames(t, 0, 40)...)
	want := map[string]bool{}
	for i := range 40 {
		if ChunkHash(filepath.Base(path), i) < 1<<63 {
			want[fmt.Sprintf("%s[%d]", filepath.Base(path), i)] = true
		}
	}
	for _, storeMiB := range []int{0, 100} {
		c := StageConfig{Name: "pool", Output: QueueConfig{Capacity: 4}, Inputs: []string{"split.a"},
			ShufflingChunkPool: &ShufflingChunkPool{ChunkPoolSize: 1000, Threads: 1, Epochs: 2, StoreMiB: storeMiB}}
		config := wholeGraph(dir)
		config.Stages[3] = c
		config.Stages[4].Inputs = []string{"pool"}
		l := mustNew(t, config, Options{})
		out := NewQueue[*Game](1000, Block)
		for _, n := range l.graph.nodes {
			if n.config.Name == "pool" {
				n.stage.(*chunkPool).out = out
			}
		}
		if err := l.Next(t.Context(), encoding.NewTrainBatch(1)); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		out.Close()
		got := map[string]bool{}
		for _, g := range drain(t, out) {
			if !want[g.String()] || g.Key != ChunkHash(g.Source, g.Index) {
				t.Errorf("store of %d MiB: chunk %s with key %#x", storeMiB, g, g.Key)
			}
			got[g.String()] = true
		}
		if len(got) != len(want) {
			t.Errorf("store of %d MiB: %d chunks, want %d", storeMiB, len(got), len(want))
		}
	}
}
