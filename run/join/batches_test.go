package join

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
)

// The first batch of a chunk is the step after the first of its games that is not held out.
func TestBatches(t *testing.T) {
	b := NewBatches(nil)
	games := []*record.Game{{ID: [16]byte{1}}, {ID: [16]byte{2}}, {ID: [16]byte{3}}}
	b.expect([]byte("chunk"), games)
	for i, c := range []struct {
		game    int
		heldOut bool
		want    int
	}{{0, true, 0}, {1, false, 1}, {2, false, 0}, {1, false, 0}} {
		b.Handle(&monitor.Episode{GameID: fmt.Sprintf("%x", games[c.game].ID), Validation: c.heldOut})
		if len(b.entered) != c.want {
			t.Errorf("game %d: %d chunks have their first batch next, want %d", i, len(b.entered), c.want)
		}
		b.Handle(&monitor.Step{Step: int64(i)})
	}
	if len(b.waiting) > 0 {
		t.Errorf("games wait for a first batch: %v", b.waiting)
	}
}

// Players rest while more games wait than the training takes in a minute, and play on when
// it has caught up.
func TestPlayersKeepPace(t *testing.T) {
	b := NewBatches(nil)
	var ids []string
	bring := func(n int) {
		var games []*record.Game
		for range n {
			g := &record.Game{}
			binary.BigEndian.PutUint64(g.ID[:], uint64(len(ids)))
			games, ids = append(games, g), append(ids, fmt.Sprintf("%x", g.ID))
		}
		b.expect(nil, games)
	}
	enter := func(n int) {
		for range n {
			b.Handle(&monitor.Episode{GameID: ids[0], QueueDepth: min(10, len(ids)-1)})
			ids = ids[1:]
		}
	}
	now := time.Now()
	for i, c := range []struct {
		bring, enter int
		later        time.Duration
		want         bool
	}{
		{bring: restLeast, want: false},
		{bring: 1, want: true},
		{enter: 1, want: false},
		{bring: 1000, want: true},
		{enter: 700, want: false}, // 556 wait, and 701 were taken
		{later: restAfter, want: false},
		{later: 2 * restAfter, want: true}, // none within the last minute
		{enter: 556 - restLeast, later: 2 * restAfter, want: false},
	} {
		bring(c.bring)
		enter(c.enter)
		if got := b.behind(now.Add(c.later)); got != c.want {
			t.Errorf("%d: %v, want %v: %d wait", i, got, c.want, len(ids))
		}
	}
	b.Handle(&monitor.Episode{QueueDepth: 10_000}) // of an earlier start
	if !b.behind(now) {
		t.Error("games of an earlier start do not wait")
	}

	h := &host{opt: HostOptions{Batches: b}, players: map[fleet.Player]*PlayerEntry{{Member: "A"}: {}}}
	h.members.List = []fleet.Member{{Key: "A", Name: "a"}}
	if !h.Beat(fleet.Player{Member: "A"}, fleet.Beat{}).Rest {
		t.Error("a player is not told to rest")
	}
	log := &said{}
	c, err := newCourier(nil, run.Dir{Root: t.TempDir()}, "p100001", runtest.LogTo(log))
	if err != nil {
		t.Fatal(err)
	}
	for _, resting := range []bool{true, false} {
		c.rest(resting)
		if c.room() == resting {
			t.Errorf("told to rest: %v; games begin: %v\n%s", resting, !resting, log)
		}
	}
}
