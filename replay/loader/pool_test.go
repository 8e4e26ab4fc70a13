package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// listSource is a file of games in memory. nil games are damaged.
type listSource struct {
	key   string
	games []*record.Game
}

func (s *listSource) Key() string { return s.key }
func (s *listSource) Len() int    { return len(s.games) }
func (s *listSource) Game(i int) (*Game, error) {
	if s.games[i] == nil {
		return nil, errors.New(s.key + " is damaged")
	}
	return &Game{Key: ChunkHash(s.key, i), Source: s.key, Index: i, Rec: s.games[i]}, nil
}

// newSource returns a file of games with the given numbers of plies; -1 is a
// damaged one, 0 one without a position.
func newSource(t testing.TB, key string, plies ...int) *listSource {
	s := &listSource{key: key}
	for i, n := range plies {
		var g *record.Game
		if n >= 0 {
			g = randomRecord(t, uint64(len(key)*1000+i), n, false)
		}
		s.games = append(s.games, g)
	}
	return s
}

func event(phase Phase, s *listSource) SourceEvent {
	if s == nil {
		return SourceEvent{File: File{Phase: phase}}
	}
	return SourceEvent{File: File{Phase: phase, Key: s.key}, Source: s}
}

// newPool returns a pool and its queues.
func newPool(t testing.TB, seed uint64, c ShufflingChunkPool) (*chunkPool, *Queue[SourceEvent], *Queue[*Game]) {
	t.Helper()
	in, out := NewQueue[SourceEvent](100, Block), NewQueue[*Game](2, Block)
	if c.Threads == 0 {
		c.Threads = 1
	}
	s, err := newChunkPool(&build{config: &StageConfig{Name: "pool", ShufflingChunkPool: &c}, options: &Options{Seed: seed}, quarantine: &Quarantine{},
		in: []anyQueue{in}, out: []anyQueue{out}})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*chunkPool), in, out
}

// runPool gives a pool events, ends its input, and returns the chunks that it
// hands on, at most limit (then it is stopped).
func runPool(t testing.TB, seed uint64, c ShufflingChunkPool, limit int, events ...SourceEvent) (names []string, p *chunkPool) {
	t.Helper()
	p, in, out := newPool(t, seed, c)
	for _, e := range events {
		if err := in.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		err := p.Run(ctx)
		out.Close()
		done <- err
	}()
	for len(names) < limit {
		g, err := out.Get(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		names = append(names, fmt.Sprintf("%s/%d", g, g.Use))
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return names, p
}

// uses returns the names "a[i]/use" of n chunks.
func uses(key string, use, from, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s[%d]/%d", key, from+i, use))
	}
	return names
}

func sortedNames(names []string) []string { return slices.Sorted(slices.Values(names)) }

// Supervised: every chunk once an epoch, in an order that depends on the seed
// alone: threads and store change nothing. What is damaged or empty is left out.
func TestPoolEpochs(t *testing.T) {
	a := newSource(t, "a", 5, 6, -1, 7, 0, 8)
	b := newSource(t, "b", 3, 4, 5)
	events := []SourceEvent{event(Initial, a), event(Initial, b), event(InitialDone, nil)}
	var first []string
	for _, c := range []ShufflingChunkPool{
		{ChunkPoolSize: 100, Epochs: 3, StoreMiB: 1}, {ChunkPoolSize: 100, Epochs: 3, Threads: 4, StoreMiB: 1},
	} {
		names, p := runPool(t, 1, c, 1000, events...)
		var want []string
		for use := range 3 {
			want = append(want, uses("a", use, 0, 2)...)
			want = append(want, uses("a", use, 3, 1)...)
			want = append(want, uses("a", use, 5, 1)...)
			want = append(want, uses("b", use, 0, 3)...)
		}
		if got := sortedNames(names); !slices.Equal(got, sortedNames(want)) {
			t.Fatalf("%+v: %v, want %v", c, got, want)
		}
		if first == nil {
			first = names
		}
		if !slices.Equal(names, first) {
			t.Errorf("%+v: order %v, want %v", c, names, first)
		}
		if list, total := p.quarantine.List(); total != 1 || list[0].Name != "a[2]" {
			t.Errorf("quarantine: %v", list)
		}
	}
	if slices.Equal(first[:7], strings.Split(strings.ReplaceAll(strings.Join(first[7:14], " "), "/1", "/0"), " ")) {
		t.Error("two epochs have one order")
	}
	if other, _ := runPool(t, 2, ShufflingChunkPool{ChunkPoolSize: 100, Epochs: 3, StoreMiB: 1}, 1000, events...); slices.Equal(other, first) {
		t.Error("two seeds give one order")
	}
	if names, _ := runPool(t, 1, ShufflingChunkPool{ChunkPoolSize: 100, StoreMiB: 1}, 1000, event(Initial, newSource(t, "x", -1, 0)), event(InitialDone, nil)); names != nil {
		t.Errorf("of no usable chunk came %v", names)
	}
}

// given takes events in one after the other.
func given(t testing.TB, p *chunkPool, events ...SourceEvent) {
	t.Helper()
	for _, e := range events {
		if err := p.add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

// drawn draws n chunks.
func drawn(t testing.TB, p *chunkPool, n int) (names []string) {
	t.Helper()
	for range n {
		p.mu.Lock()
		d, ok, over := p.next()
		p.mu.Unlock()
		if !ok || over {
			t.Fatalf("no chunk after %d", len(names))
		}
		names = append(names, fmt.Sprintf("%s[%d]/%d", d.source.key, d.at, d.use))
	}
	return names
}

// When the passes are over before the end of the input is known, the pool waits: the end
// gives no chunk once more, a new chunk one more pass.
func TestPoolWaitsForTheEnd(t *testing.T) {
	p, _, _ := newPool(t, 1, ShufflingChunkPool{ChunkPoolSize: 100, Epochs: 2})
	expect := func(what string, wantOver bool) {
		t.Helper()
		p.mu.Lock()
		defer p.mu.Unlock()
		if d, ok, over := p.next(); ok || over != wantOver {
			t.Errorf("%s: chunk %+v: %v, over %v, want %v", what, d, ok, over, wantOver)
		}
	}
	given(t, p, event(Initial, newSource(t, "a", 5, 6, 7)), event(InitialDone, nil))
	if got, want := sortedNames(drawn(t, p, 6)), sortedNames(append(uses("a", 0, 0, 3), uses("a", 1, 0, 3)...)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	expect("after two passes", false)
	again := NewStream(new(rand.PCG))
	if d := (replay.Decoder{Data: p.stream.AppendState(nil)}); again.SetState(&d) != nil || d.End() != nil || !again.Seen() {
		t.Errorf("a saved stream: %+v, all seen: %v", d, again.Seen())
	}
	given(t, p, event(Added, newSource(t, "bb", 4)))
	if got, want := sortedNames(drawn(t, p, 4)), sortedNames(append(uses("a", 2, 0, 3), uses("bb", 0, 0, 1)...)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	expect("after one more", false)
	p.ended = true
	expect("at the end", true)
}

// The window holds the newest chunks; sources are replaced, shrink, grow, go and
// come back.
func TestPoolWindow(t *testing.T) {
	for _, hanse := range []bool{false, true} {
		p, _, _ := newPool(t, 3, ShufflingChunkPool{ChunkPoolSize: 6, HanseSampling: hanse, StoreMiB: 1}) // gamma 0: all are accepted
		given(t, p, event(Initial, newSource(t, "a", 2, 2, 2, 2)))
		if _, ok, _ := p.next(); ok {
			t.Fatal("a chunk before the first scan was complete")
		}
		pass := func(n int, want ...string) {
			t.Helper()
			got := drawn(t, p, n)
			for i, name := range got {
				got[i], _, _ = strings.Cut(name, "/")
			}
			slices.Sort(want)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("hanse %v: %v, want %v", hanse, got, want)
			}
		}
		given(t, p, event(Initial, newSource(t, "b", 2)), event(InitialDone, nil), event(InitialDone, nil))
		pass(5, "a[0]", "a[1]", "a[2]", "a[3]", "b[0]")
		given(t, p, event(Added, newSource(t, "c", 2, 2, 2)))
		pass(6, "a[2]", "a[3]", "b[0]", "c[0]", "c[1]", "c[2]")
		given(t, p, event(Replaced, newSource(t, "c", 3, 3)), event(Removed, &listSource{key: "b"}))
		given(t, p, SourceEvent{File: File{Phase: Removed, Key: "b"}}, SourceEvent{File: File{Phase: Removed, Key: "unknown"}})
		pass(4, "a[2]", "a[3]", "c[0]", "c[1]")
		given(t, p, event(Added, newSource(t, "b", 2)), event(Replaced, newSource(t, "c", 2, 2, 2, 2)))
		pass(6, "a[3]", "b[0]", "c[0]", "c[1]", "c[2]", "c[3]")
		given(t, p, event(Added, newSource(t, "d", 1, 1, 1, 1, 1, 1, 1, 1)))
		pass(6, "d[2]", "d[3]", "d[4]", "d[5]", "d[6]", "d[7]")
		if len(p.window.slots) != 6 || len(p.window.spans) != 1 {
			t.Errorf("%d slots, %d spans", len(p.window.slots), len(p.window.spans))
		}
		for i := range p.window.slots {
			p.window.put(p.window.first+uint64(i), nil)
		}
		if _, ok, over := p.next(); ok || over {
			t.Error("a chunk of a window without any")
		}
	}
}

// With hanse sampling and one position a use every position of the window comes
// equally often, also after the window has moved: p = 1e-6 (see chiLimit). The
// weight that is always accepted is the window's largest.
func TestPoolHanseUniform(t *testing.T) {
	p, _, _ := newPool(t, 4, ShufflingChunkPool{ChunkPoolSize: 5, HanseSampling: true, HanseSamplingGamma: 1, StoreMiB: 1})
	given(t, p, event(Initial, newSource(t, "a", 200, 3, 40)), event(InitialDone, nil))
	if p.hanse.Max() != 200 {
		t.Errorf("largest weight %v, want 200", p.hanse.Max())
	}
	given(t, p, event(Added, newSource(t, "bb", 17, 1, 25)))
	if p.hanse.Max() != 40 {
		t.Errorf("largest weight %v, want 40", p.hanse.Max())
	}
	counts := map[string][]int{"a[1]": make([]int, 3), "a[2]": make([]int, 40), "bb[0]": make([]int, 17), "bb[1]": make([]int, 1), "bb[2]": make([]int, 25)}
	// The order within a chunk is a permutation a pass, so that positions would
	// come too evenly: every draw gets a use of its own.
	pick := picker{seed: 1, count: 1}
	for i := range uint32(86 * 400) {
		p.mu.Lock()
		d, ok, _ := p.next()
		p.mu.Unlock()
		if !ok {
			t.Fatal("no chunk")
		}
		ply := pick.pick(nil, &d.packed.positions, uint64(i)*0x9e3779b97f4a7c15, i)
		counts[fmt.Sprintf("%s[%d]", d.source.key, d.at)][ply[0]]++
	}
	var flat []int
	for _, name := range []string{"a[1]", "a[2]", "bb[0]", "bb[1]", "bb[2]"} {
		flat = append(flat, counts[name]...)
	}
	// Chunks come without replacement, which makes counts less even than chance
	// does by nothing: each acceptance is an independent toss.
	if x := chiSquare(flat); x > chiLimit(85) {
		t.Errorf("chi-square %.1f, at most %.1f: %v", x, chiLimit(85), counts)
	}
}

// Weights by diff focus stand in for the number of positions.
func TestPoolPositionWeight(t *testing.T) {
	w := PositionWeight{Enabled: true, Focus: chance.Focus{QWeight: 1, PolicyScale: 1, Alpha: 1, Beta: .1, Gamma: 1, Tau: 2}}
	p, _, _ := newPool(t, 5, ShufflingChunkPool{ChunkPoolSize: 5, HanseSampling: true, HanseSamplingGamma: 1, StoreMiB: 1, PositionWeight: w})
	src := newSource(t, "a", 30, 60)
	given(t, p, event(Initial, src), event(InitialDone, nil))
	for i, g := range src.games {
		want := 0.0
		for k := range g.Plies {
			want += w.Of(&g.Plies[k])
		}
		if got := float64(p.window.slots[i].weight); got < want*.99999 || got > want*1.00001 {
			t.Errorf("chunk %d weighs %v, want %v", i, got, want)
		}
	}
}

// After loading the state the same chunks follow, bit for bit, though the files
// come in another order and one has grown and another gone.
func TestPoolRestore(t *testing.T) {
	c := ShufflingChunkPool{ChunkPoolSize: 9, HanseSampling: true, HanseSamplingGamma: 1, StoreMiB: 1}
	a, b, d := newSource(t, "a", 9, 3, 7, 12, 5), newSource(t, "b", 8, 2, 2), newSource(t, "d", 4, 9, 1)
	p, _, _ := newPool(t, 6, c)
	given(t, p, event(Initial, b), event(Initial, a), event(InitialDone, nil), event(Added, d))
	drawn(t, p, 57)
	var state bytes.Buffer
	if err := p.Section().Save(&state); err != nil {
		t.Fatal(err)
	}
	want := drawn(t, p, 200)
	restored := func(events ...SourceEvent) *chunkPool {
		t.Helper()
		again, _, _ := newPool(t, 99, c)
		if err := again.Section().Load(bytes.NewReader(state.Bytes()), 1); err != nil {
			t.Fatal(err)
		}
		var saved bytes.Buffer
		if err := again.Section().Save(&saved); err != nil || !bytes.Equal(saved.Bytes(), state.Bytes()) {
			t.Errorf("the state changes when it is loaded: %v", err)
		}
		given(t, again, append(events, event(InitialDone, nil))...)
		return again
	}
	if got := drawn(t, restored(event(Initial, a), event(Initial, b), event(Initial, d)), 200); !slices.Equal(got, want) {
		t.Error("other chunks after loading the state")
	}
	grown := restored(event(Initial, newSource(t, "a", 9, 3, 7, 12, 5, 6)), event(Initial, d))
	for _, name := range drawn(t, grown, 100) {
		if strings.HasPrefix(name, "b[") {
			t.Fatalf("%s of a file that is gone", name)
		}
	}
	if !slices.ContainsFunc(drawn(t, grown, 100), func(name string) bool { return strings.HasPrefix(name, "a[5]/") }) {
		t.Error("what was appended to a file does not come")
	}
	for _, bad := range [][]byte{nil, state.Bytes()[:40], state.Bytes()[:state.Len()-1]} {
		again, _, _ := newPool(t, 1, c)
		if err := again.Section().Load(bytes.NewReader(bad), 1); err == nil {
			t.Errorf("state of %d bytes was loaded", len(bad))
		}
	}
	if err := p.Section().Load(&state, 9); err == nil {
		t.Error("an unknown version was loaded")
	}
}

// The store keeps to its memory, and what does not fit is read again.
func TestPoolStoreBudget(t *testing.T) {
	plies := slices.Repeat([]int{400}, 40)
	names, p := runPool(t, 7, ShufflingChunkPool{ChunkPoolSize: 50, Epochs: 3, Threads: 2, StoreMiB: 1}, 1000, event(Initial, newSource(t, "a", plies...)), event(InitialDone, nil))
	if len(names) != 120 || p.window.bytes > 1<<20 || p.window.stored == 0 || p.window.stored == 40 {
		t.Errorf("%d chunks; %d stored in %d bytes", len(names), p.window.stored, p.window.bytes)
	}
	var bytes, positions int64
	for i := range p.window.slots {
		if t := p.window.slots[i].packed; t != nil {
			bytes += int64(t.Bytes())
			positions += int64(t.num)
		}
	}
	if bytes != p.window.bytes || positions != p.window.positions {
		t.Errorf("counted %d bytes, %d positions; there are %d, %d", p.window.bytes, p.window.positions, bytes, positions)
	}
	if hits, misses := p.storeHits.Load(), p.storeMisses.Load(); hits+misses != 120 || misses <= 40 || hits == 0 {
		t.Errorf("%d hits, %d misses", hits, misses)
	}
}

func TestPoolSettings(t *testing.T) {
	for name, c := range map[string]ShufflingChunkPool{
		"chunk_pool_size": {Threads: 1}, "threads": {ChunkPoolSize: 1}, "epochs": {ChunkPoolSize: 1, Threads: 1, Epochs: -1}, "store_mib": {ChunkPoolSize: 1, Threads: 1, StoreMiB: -1},
		"hanse_sampling_gamma": {ChunkPoolSize: 1, Threads: 1, HanseSamplingGamma: -1}, "beta": {ChunkPoolSize: 1, Threads: 1, PositionWeight: PositionWeight{Enabled: true, Focus: chance.Focus{QWeight: 1, Tau: 1}}},
	} {
		b := &build{config: &StageConfig{Name: "p", ShufflingChunkPool: &c}, options: &Options{}, in: []anyQueue{NewQueue[SourceEvent](1, Block)}, out: []anyQueue{NewQueue[*Game](1, Block)}}
		if _, err := newChunkPool(b); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzPoolState: state is refused, or the pool runs with it.
func FuzzPoolState(f *testing.F) {
	src := newSource(f, "a", 3, 4, 5)
	p, _, _ := newPool(f, 1, ShufflingChunkPool{ChunkPoolSize: 3, StoreMiB: 1})
	given(f, p, event(Initial, src), event(InitialDone, nil))
	drawn(f, p, 2)
	var state bytes.Buffer
	if err := p.Section().Save(&state); err != nil {
		f.Fatal(err)
	}
	f.Add(state.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, _, _ := newPool(t, 1, ShufflingChunkPool{ChunkPoolSize: 3, StoreMiB: 1})
		if err := p.Section().Load(bytes.NewReader(data), 1); err != nil {
			return
		}
		given(t, p, event(Initial, src), event(InitialDone, nil))
		p.next()
	})
}
