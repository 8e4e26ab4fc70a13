package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// One call's games come back in order, in as few messages as they fit in.
func TestRescoreBatch(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	r := b.rescorer("halve")
	games := randomGames(t, 500)
	games = append(games, &record.Game{ID: record.GameID(1, 2, 3)}) // no plies
	before := make([]*record.Game, len(games))
	for i, g := range games {
		before[i] = g.Clone()
	}
	got := rescored(t, r, games)
	expectHalved(t, games, got)
	for i, g := range games {
		if err := sameGame(before[i], g); err != nil {
			t.Fatalf("the caller's game was changed: %v", err)
		}
	}
	rows, bytes, batches, filled := 0, 0, 0, 0
	for _, g := range games {
		size := api.GameSize(g)
		if filled += size; batches == 0 || filled > api.BatchBytes {
			batches, filled = batches+1, size
		}
		rows, bytes = rows+len(g.Plies), bytes+size
	}
	st := b.Stats()
	if len(st) != 1 {
		t.Fatalf("%d stages in the statistics", len(st))
	}
	want := Stats{Kind: stage.KindRescorer, Name: "halve", Version: "1.2.3", PID: b.report("halve").PID,
		Calls: uint64(batches), Games: 501, Rows: uint64(rows), Bytes: uint64(bytes), Seconds: st[0].Seconds}
	if st[0] != want || st[0].Seconds <= 0 {
		t.Errorf("statistics %+v, want %+v", st[0], want)
	}
	if want.Calls < 2 {
		t.Fatalf("the test needs several messages, %d bytes made %d", bytes, want.Calls)
	}
	if err := r.(stage.Faulty).Err(); err == nil || err.Error() != "a tooth is missing" {
		t.Errorf("faults: %v", err)
	}
	if out, err := r.RescoreBatch(inTime(t), nil); err != nil || len(out) != 0 {
		t.Errorf("no games: %v, %v", out, err)
	}
}

// Calls of many goroutines each get their own games back, once and in order,
// also when the plugin dies in between.
func TestRescoreConcurrently(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	r := b.rescorer("halve")
	all := randomGames(t, 400)
	all[150].Seed, all[350].Seed = seedDieOnce, seedDieOnce
	seed := rand.Uint64()
	t.Logf("groups of seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var wg sync.WaitGroup
	for rest := all; len(rest) > 0; {
		n := min(1+rng.IntN(12), len(rest))
		group := rest[:n]
		rest = rest[n:]
		wg.Go(func() {
			got, err := r.RescoreBatch(inTime(t), group)
			if err != nil {
				t.Error(err)
				return
			}
			for i, g := range group {
				if err := sameGame(halved(g, 0.5), got[i]); err != nil {
					t.Errorf("game %d of a group of %d: %v", i, n, err)
				}
			}
		})
	}
	wg.Wait()
	st := b.Stats()[0]
	if st.Games != 400 || st.Calls > st.Games || st.Restarts < 1 || st.Restarts > 2 || st.Quarantined != 0 {
		t.Errorf("statistics %+v, want 400 games, 1 or 2 restarts, no quarantine", st)
	}
}

// Games of calls that come while the plugin has work are gathered.
func TestGathering(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	r := b.rescorer("halve").(*rescorer)
	games := randomGames(t, 22)
	games[0].Seed, games[1].Seed = seedGate, seedGate
	var calls []*call
	for i := range games { // the first two are sent at once
		calls = append(calls, newCall(inTime(t), games[i:i+1]))
		r.calls <- calls[i]
	}
	filetest.Write(t, filepath.Join(b.dir, "gate"), "")
	var got []*record.Game
	for _, c := range calls {
		<-c.done
		got = append(got, c.items[0].out)
	}
	expectHalved(t, games, got)
	if st := b.Stats()[0]; st.Calls != 3 || st.Games != 22 {
		t.Errorf("%d calls for %d games, want 3 for 22", st.Calls, st.Games)
	}
}

// nextBatch fills a batch up to BatchBytes and leaves out calls that gave up.
func TestNextBatch(t *testing.T) {
	r := &rescorer{calls: make(chan *call)}
	ctx, cancel := context.WithCancel(t.Context())
	queue := func(ctx context.Context, sizes ...int) *call {
		c := &call{ctx: ctx, left: len(sizes), done: make(chan struct{})}
		for i, size := range sizes {
			c.items = append(c.items, item{call: c, size: size, game: &record.Game{Ordinal: uint64(i)}})
		}
		r.add(c)
		return c
	}
	queue(t.Context(), 400_000, 400_000, 400_000)
	gone := queue(ctx, 10, 20)
	queue(t.Context(), 3<<20, 5)
	cancel()
	var sizes [][]int
	for len(r.pending) > 0 {
		var s []int
		for _, it := range r.nextBatch().items {
			s = append(s, it.size)
		}
		sizes = append(sizes, s)
	}
	want := [][]int{{400_000, 400_000}, {400_000}, {3 << 20}, {5}}
	if len(sizes) != len(want) {
		t.Fatalf("batches of %v, want %v", sizes, want)
	}
	for i := range want {
		if !slices.Equal(sizes[i], want[i]) {
			t.Errorf("batch %d: %v, want %v", i, sizes[i], want[i])
		}
	}
	if <-gone.done; !errors.Is(gone.items[1].err, context.Canceled) || r.waiting != 0 {
		t.Errorf("a call that gave up: %v; %d bytes wait", gone.items[1].err, r.waiting)
	}
}

// A game that the plugin refuses is an error of its own call alone.
func TestRefusedGame(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	r := b.rescorer("halve")
	games := randomGames(t, 5)
	games[3].Seed = seedRefuse
	_, err := r.RescoreBatch(inTime(t), games)
	if e, ok := errors.AsType[*Error](err); !ok || e.Name != "halve" || e.Kind != stage.KindRescorer || !strings.Contains(err.Error(), "not this one") {
		t.Fatalf("error %v, want one of halve that says why", err)
	}
	got := rescored(t, r, games[:3])
	expectHalved(t, games[:3], got)
	if st := b.Stats()[0]; st.Restarts != 0 {
		t.Errorf("%d restarts", st.Restarts)
	}
}

// A call that gives up returns at once, and the others go on.
func TestRescoreCancelled(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	r := b.rescorer("halve")
	games := randomGames(t, 2)
	games[0].Seed = seedGate
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := r.RescoreBatch(ctx, games[:1])
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	filetest.Write(t, filepath.Join(b.dir, "gate"), "")
	got := rescored(t, r, games[1:])
	expectHalved(t, games[1:], got)
}

// Close and Release end calls under way with ErrClosed, and later ones.
func TestRescoreClosed(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	r := b.rescorer("halve")
	games := randomGames(t, 1)
	games[0].Seed = seedHang
	done := make(chan error)
	go func() {
		_, err := r.RescoreBatch(context.Background(), games)
		done <- err
	}()
	if err := b.Release(r); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("the call under way: %v", err)
	}
	if _, err := r.RescoreBatch(context.Background(), games); !errors.Is(err, ErrClosed) {
		t.Errorf("a later call: %v", err)
	}
	if err := b.Release(r); err != nil || len(b.Stats()) != 0 {
		t.Errorf("the second Release: %v, %d stages", err, len(b.Stats()))
	}
	if got := b.states(); !slices.Equal(got, []string{Started, Stopped}) {
		t.Errorf("events %v", got)
	}
}
