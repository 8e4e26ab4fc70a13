package run

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// TestBacklog: the journal's order first, then the rest by ordinal; a lost game
// ends the order that can be repeated.
func TestBacklog(t *testing.T) {
	games := map[[16]byte]*record.Game{}
	entry := func(n uint64) Entry { return Entry{Game: fmt.Sprintf("%x", record.GameID(7, 0, n)), Ordinal: n} }
	for _, n := range []uint64{1, 2, 3, 5, 8} {
		games[record.GameID(7, 0, n)] = &record.Game{ID: record.GameID(7, 0, n), Ordinal: n}
	}
	for _, c := range []struct {
		journal, want []uint64
		kept          int
	}{
		{nil, []uint64{1, 2, 3, 5, 8}, 0},
		{[]uint64{5, 2, 3}, []uint64{5, 2, 3, 1, 8}, 3},
		{[]uint64{5, 4, 3}, []uint64{5, 1, 2, 3, 8}, 1},
		{[]uint64{2, 2, 3}, []uint64{2, 1, 3, 5, 8}, 1},
	} {
		var entries []Entry
		for _, n := range c.journal {
			entries = append(entries, entry(n))
		}
		b, kept := newBacklog(entries, games)
		if kept != c.kept || b.Len() != len(c.want) {
			t.Errorf("journal %v: kept %d of it, %d games wait", c.journal, kept, b.Len())
		}
		for i, want := range c.want {
			if g := b.pop(); g == nil || g.Ordinal != want {
				t.Errorf("journal %v: game %d is %+v, want ordinal %d", c.journal, i, g, want)
			}
		}
		if b.pop() != nil {
			t.Error("more games than there are")
		}
	}
}

// resignGame is a game that was played on: white or black was hopeless at ply
// 1 (black to move), with the given result.
func resignGame(q float32, result int8) *record.Game {
	g := &record.Game{Flags: record.ResignDisabled, WhiteResult: result, Plies: make([]record.Ply, 3)}
	for i := range g.Plies {
		g.Plies[i].Root = encoding.UnknownQDM
	}
	g.Plies[1].Root.Q, g.Plies[1].Flags, g.Plies[2].Flags = q, record.PlayedOn, record.PlayedOn
	return g
}

func TestFalseResign(t *testing.T) {
	for _, c := range []struct {
		q      float32
		result int8
		wrong  bool
	}{
		{-0.97, 1, false}, // black would have resigned, and lost
		{-0.97, 0, true}, {-0.97, -1, true},
		{0.97, -1, false}, // white would have
		{0.97, 0, true}, {0.97, 1, true},
	} {
		if wrong, tested := falseResign(resignGame(c.q, c.result)); !tested || wrong != c.wrong {
			t.Errorf("q %v, result %d: false %v, tested %v", c.q, c.result, wrong, tested)
		}
	}
	black := resignGame(-0.97, -1)
	black.Start = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1" // ply 1 is white's
	if wrong, tested := falseResign(black); !tested || wrong {
		t.Errorf("black begins: false %v, tested %v", wrong, tested)
	}
	if _, tested := falseResign(&record.Game{Flags: record.ResignDisabled, Plies: make([]record.Ply, 2)}); tested {
		t.Error("nobody would have resigned")
	}
	played := resignGame(-0.97, 0)
	played.Flags = 0
	if _, tested := falseResign(played); tested {
		t.Error("the game was not one that is played on")
	}
}

func TestResignWatch(t *testing.T) {
	q, maxFalse := -0.9, 0.05
	c := &config.Resign{Q: &q, MaxFalseRate: &maxFalse}
	var w ResignWatch
	if r := w.Rule(c); !r.Enabled || r.Q != q || r.PlayThrough != 1 {
		t.Errorf("at the start nobody may resign yet: %+v", r)
	}
	for i := range 19 { // good ones, then bad ones
		if w.Count(resignGame(-0.97, 1-int8(min(i/18, 1))), maxFalse) {
			t.Fatalf("moved after %d games", i+1)
		}
	}
	if !w.Count(resignGame(-0.97, 0), maxFalse) || w.Q != -0.95 {
		t.Errorf("2 of 20 are false: %+v", w)
	}
	if r := w.Rule(c); r.Q != -0.95 {
		t.Errorf("rule %+v", r)
	}
	for range 1000 {
		w.Count(resignGame(-0.97, 0), maxFalse)
	}
	if r := w.Rule(c); r.Enabled || w.Tested != 1020 || w.False != 1002 {
		t.Errorf("all are false, yet %+v; %+v", r, w)
	}
	q = -0.8
	if r := w.Rule(c); !r.Enabled || r.Q != -0.8 {
		t.Errorf("a new threshold of the user's: %+v", r)
	}
	w = ResignWatch{}
	w.Rule(c)
	for i := range 2000 {
		if changed := w.Count(resignGame(-0.97, 1-int8(i%25/24)), maxFalse); changed != (i == 19) {
			t.Fatalf("4 %% are false, 5 %% are allowed: changed %v after %d games: %+v", changed, i+1, w)
		}
	}
	if r := w.Rule(c); r.PlayThrough != c.GetPlaythrough() || r.Q != q {
		t.Errorf("trusted, yet %+v", r)
	}
	for range 20 { // now the net changes and they are all false
		w.Count(resignGame(-0.97, 0), maxFalse)
	}
	if r := w.Rule(c); r.PlayThrough != 1 || r.Q >= q {
		t.Errorf("trust is lost, yet %+v", r)
	}
}

// TestResignInRun: a run whose resignations are false makes them rarer, and goes
// on so after a restart.
func TestResignInRun(t *testing.T) {
	for _, workers := range []int{0, 2} {
		dir := t.TempDir() + "/run"
		more := fmt.Sprintf("--train-steps-per-episode=1 --checkpoint-interval=10 --producer-workers=%d --resign-q=-0.0001 --resign-plies=1 --resign-playthrough=1", workers)
		s, log := train(t, dir, more+" --episodes=24")
		checkRun(t, dir, 24, s.Steps)
		if !strings.Contains(log, "the threshold is stricter now") {
			t.Errorf("%d workers: games of 12 plies are drawn, yet no resignation was false:\n%s", workers, log)
		}
		d, _ := jobOf(t, dir)
		var state State
		if _, err := checkpointOf(t, d).Restore([]stage.Section{state.Section()}); err != nil {
			t.Fatal(err)
		}
		if w := state.Resign; w.Tested < 20 || w.False < 2 || w.Q > -0.5 {
			t.Errorf("%d workers: %+v", workers, w)
		}
	}
}
