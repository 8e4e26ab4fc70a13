package selfplay

import (
	"slices"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/record"
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

// TestShownEnd: a watched game is shown as over as soon as it is, also where another worker
// looks meanwhile; one that nobody watched is not shown for its end.
func TestShownEnd(t *testing.T) {
	played := &collector{}
	mustRun(t, worker(played, NewTickets(0, 2)))
	games := played.byOrdinal(t)
	var s Shown
	s.Games()
	running := *games[0]
	running.End = record.EndUnknown
	s.look(&running)
	s.look(games[1])
	s.mu.Lock() // as another worker does
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		s.look(games[0])
	}()
	select {
	case <-looked:
		t.Error("an end was passed over while another worker looked")
	case <-time.After(20 * time.Millisecond):
	}
	s.mu.Unlock()
	<-looked
	views := s.Games()
	if len(views) != 1 || views[0].Game != 0 || views[0].End == "" {
		t.Errorf("shown: %+v", views)
	}
}
