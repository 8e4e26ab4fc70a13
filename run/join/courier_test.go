package join

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/fleettest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// spool is a player's directory with chunks of one game each.
func spool(t *testing.T, chunks int) run.Dir {
	t.Helper()
	dir := run.Dir{Root: t.TempDir()}
	for n := range chunks {
		w := replay.NewWriter(fsx.OS, dir.GamesOf("net", "p100001"), replay.WriterOptions{NetID: "net", RunID: "run"})
		err := w.Append(&record.Game{ID: record.GameID(7, 100001, uint64(n)), NetID: "net", Seed: 7, Ordinal: uint64(n), End: record.EndAborted})
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (c *courier) left(t *testing.T) int {
	t.Helper()
	paths, err := replay.ListChunks(fsx.OS, c.dir.Selfplay())
	if err != nil {
		t.Fatal(err)
	}
	return len(paths)
}

// TestCourier: a chunk stays until its verdict has come; without one it is delivered again,
// later and later; one that is refused is set aside; and what a start settled no later
// start plays again.
func TestCourier(t *testing.T) {
	dir := spool(t, 3)
	synctest.Test(t, func(t *testing.T) {
		m := fleettest.NewMemory(nil, 2) // the third chunk finds it full
		player := fleet.Player{Member: "A", Instance: "1"}
		log := &said{}
		c, err := newCourier(m.Post(player), dir, "p100001", runtest.LogTo(log))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.run(ctx) }()
		time.Sleep(time.Hour)
		if d, err := m.Next(contextOf(t, time.Second)); err == nil {
			t.Fatalf("a chunk was delivered before the process had read its games: %v", d.Sum())
		}
		if !c.Room(ctx) {
			t.Fatal("no room")
		}
		next := func() *fleet.Delivery {
			t.Helper()
			d, err := m.Next(contextOf(t, time.Hour))
			if err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			return d
		}
		first, second := next(), next()
		if err := second.Reject("it is bad"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * lookEvery)
		if n := c.left(t); n != 2 {
			t.Fatalf("%d chunks stay, want 2", n)
		}
		third := next() // the mailbox has room again
		if err := third.Commit(1); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		wait := firstResend
		for range 70 { // nobody settles the first one for half a day
			again := next()
			if again.Sum() != first.Sum() {
				t.Fatalf("another chunk came")
			}
			if took := time.Since(began); took < wait/2 || took > wait+time.Minute {
				t.Fatalf("delivered again after %v, want some %v", took, wait)
			}
			began, wait = time.Now(), min(2*wait, lastResend)
		}
		if err := next().Commit(0); err != nil { // the run had it
			t.Fatal(err)
		}
		time.Sleep(2 * lookEvery)
		if n := c.left(t); n != 0 {
			t.Errorf("%d chunks stay", n)
		}
		if games, waiting := c.counts(); games != 1 || waiting != 0 {
			t.Errorf("%d games counted, %d chunks wait", games, waiting)
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if c, err = newCourier(m.Post(player), dir, "p100001", runtest.LogTo(log)); err != nil {
			t.Fatal(err)
		}
		settled := c.Delivered()
		if settled.Len() != 3 || !settled.Has(0) || !settled.Has(2) {
			t.Errorf("settled %v", settled.Ranges)
		}
	})
	aside, err := filepath.Glob(filepath.Join(dir.Root, "rejected", "*"+replay.SealedSuffix))
	if err != nil || len(aside) != 1 {
		t.Fatalf("set aside: %v, %v", aside, err)
	}
	if games, _, err := replay.ReadChunk(fsx.OS, aside[0]); err != nil || len(games) != 1 {
		t.Errorf("the chunk that was set aside: %d games, %v", len(games), err)
	}
}

func contextOf(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestRoom: no game begins while too much waits for the run.
func TestRoom(t *testing.T) {
	dir := spool(t, 2)
	synctest.Test(t, func(t *testing.T) {
		m := fleettest.NewMemory(nil, 100)
		log := &said{}
		c, err := newCourier(m.Post(fleet.Player{}), dir, "p100001", runtest.LogTo(log))
		if err != nil {
			t.Fatal(err)
		}
		c.limit = 200 // bytes: less than two chunks
		if err := c.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.Room(contextOf(t, time.Hour)) {
			t.Error("there is room")
		}
		if !strings.Contains(log.String(), "self-play rests") || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("said:\n%s", log)
		}
		d, err := m.Next(t.Context())
		if err == nil {
			err = d.Commit(1)
		}
		if err == nil {
			err = c.step(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if !c.Room(contextOf(t, time.Hour)) {
			t.Error("there is no room")
		}
	})
}

// TestCourierRefuses: a list of what was delivered that cannot be read is an error, not an
// empty one: all games would be played again.
func TestCourierRefuses(t *testing.T) {
	dir := run.Dir{Root: t.TempDir()}
	filetest.Write(t, filepath.Join(dir.Root, "delivered.json"), "{")
	if _, err := newCourier(nil, dir, "p100001", nil); err == nil || !strings.Contains(err.Error(), "delivered.json") {
		t.Error(err)
	}
}

// TestFetch: the net that the run has fetched last plays, though it has fewer samples.
func TestFetch(t *testing.T) {
	m := fleettest.NewMemory(nil, 1)
	p := &player{models: t.TempDir(), post: m.Post(fleet.Player{})}
	for _, name := range []string{"r-main-s20-d9", "r-main-s30-d9", "r-main-s10-d9", "r-main-s15-d9"} {
		ref := fleet.NewNetRef(name, []byte(name))
		if err := errors.Join(m.Publish(t.Context(), ref, []byte(name)), p.fetch(t.Context(), ref)); err != nil {
			t.Fatal(err)
		}
		if newest, err := setup.NewestNet(run.Dir{}, p.models); err != nil || newest.Name != name {
			t.Errorf("%v plays, want %s: %v", newest, name, err)
		}
	}
	if nets, err := os.ReadDir(p.models); err != nil || len(nets) != 2 {
		t.Errorf("%v are kept, %v", nets, err)
	}
}
