package train

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
)

// TestBacklog: the journal's order first, then the rest by ordinal; a lost game
// ends the order that can be repeated.
func TestBacklog(t *testing.T) {
	games := map[[16]byte]*record.Game{}
	entry := func(n uint64) run.Entry {
		return run.Entry{Game: fmt.Sprintf("%x", record.GameID(7, 0, n)), Ordinal: n}
	}
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
		var entries []run.Entry
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
