package play

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
)

// counted is a rescorer that knows which games it was given.
type counted struct {
	rescore.Identity
	seen    *[]uint64
	started chan struct{} // told when a call begins; nil = nobody
	blocked chan struct{} // until it is closed no call ends; nil = at once
}

func (c counted) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	if c.started != nil {
		c.started <- struct{}{}
	}
	if c.blocked != nil {
		<-c.blocked
	}
	*c.seen = append(*c.seen, g.Ordinal)
	return g, nil
}

// TestStoreSetRescorers: a group under way ends with the rescorers it began with,
// the next finds the newest; each that was replaced is retired once, and only when
// no game is with it.
func TestStoreSetRescorers(t *testing.T) {
	var first, second, third []uint64
	var retired []string
	started, blocked := make(chan struct{}), make(chan struct{})
	store := OpenStore(StoreOptions{Dir: run.Dir{Root: t.TempDir()}, Process: "p1", Net: "n", Job: "j", Queue: 10,
		Rescorers: rescore.Chain{counted{seen: &first, started: started, blocked: blocked}}})
	put := func(n uint64) {
		t.Helper()
		if err := store.Put(t.Context(), &record.Game{ID: record.GameID(7, 0, n), NetID: "n", Ordinal: n, End: record.EndAborted}); err != nil {
			t.Fatal(err)
		}
	}
	put(0)
	<-started
	for i, seen := range []*[]uint64{&second, &third} {
		name := fmt.Sprint(i + 1)
		store.SetRescorers(rescore.Chain{counted{seen: seen}}, func(old rescore.Chain) { retired = append(retired, name) })
	}
	if len(retired) != 0 {
		t.Errorf("retired %v while a game was with the first", retired)
	}
	put(1)
	close(blocked)
	<-store.Durable()
	<-store.Durable()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first, []uint64{0}) || len(second) != 0 || !slices.Equal(third, []uint64{1}) || !slices.Equal(retired, []string{"1", "2"}) {
		t.Errorf("games %v, %v, %v; retired %v", first, second, third, retired)
	}
	store.SetRescorers(nil, func(rescore.Chain) { t.Error("retired after the end") })
}

// TestStoreRetiresIdle: rescorers are retired although no game comes, and although
// nobody takes the durable ones.
func TestStoreRetiresIdle(t *testing.T) {
	store := OpenStore(StoreOptions{Dir: run.Dir{Root: t.TempDir()}, Process: "p1", Net: "n", Job: "j", Queue: 2})
	for n := range uint64(3) {
		retired := make(chan struct{})
		store.SetRescorers(nil, func(rescore.Chain) { close(retired) })
		<-retired
		if err := store.Put(t.Context(), &record.Game{ID: record.GameID(7, 0, n), NetID: "n", Ordinal: n, End: record.EndAborted}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
