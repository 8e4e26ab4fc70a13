package selfplay

import (
	"slices"
	"testing"
)

// TestShown watches games while they are played: they are those that are played, none is
// played differently, and without a watcher nothing is kept.
func TestShown(t *testing.T) {
	const games = 20
	alone := &collector{}
	cfg := worker(alone, NewTickets(0, games))
	mustRun(t, cfg)
	if shown := cfg.Stats.Shown.Games(); len(shown) > 0 {
		t.Errorf("%d games are shown that nobody watched", len(shown))
	}

	watched := &collector{}
	cfg = worker(watched, NewTickets(0, games))
	seen := 0
	watched.after = func(int) {
		for _, v := range cfg.Stats.Shown.Games() {
			seen++
			if len(v.Moves) == 0 || v.Net != "hash" || v.Game >= games || v.End == "" != (v.Result == "*") {
				t.Errorf("shown: %+v", v)
			}
			if v.Values[len(v.Values)-1] == nil {
				t.Errorf("game %d: no value of the newest move", v.Game)
			}
		}
	}
	cfg.Stats.Shown.Games()
	mustRun(t, cfg)
	if seen == 0 {
		t.Error("no game was shown")
	}
	sameGames(t, "watching", alone.byOrdinal(t), watched.byOrdinal(t))
	for _, v := range cfg.Stats.Shown.Games() {
		g := watched.byOrdinal(t)[v.Game]
		full, err := g.View()
		if err != nil || !slices.Equal(v.Moves, full.Moves[:len(v.Moves)]) {
			t.Errorf("game %d: shown %v, played %v, %v", v.Game, v.Moves, full.Moves, err)
		}
	}
}
