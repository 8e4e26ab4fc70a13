package train

import (
	"reflect"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/record"
)

// Players beside the trainer do not get a net after each game: packing it would take as
// long as a small net's training. At first they do, when nets change much.
// Players between steps always do before a cohort, or their games would depend on the clock.
func TestRefresh(t *testing.T) {
	for _, c := range []struct {
		ago             time.Duration
		samples, before int64
		want            bool
	}{
		{0, 6000, 6000, false}, {40 * time.Second, 7000, 6000, false}, {60 * time.Second, 6001, 6000, true},
		{0, 7001, 6000, true}, {0, 1, 0, true}, {0, 0, 0, false},
	} {
		p := &players{published: time.Now().Add(-c.ago), took: time.Second, sampled: c.before}
		if got := p.due(c.samples); got != c.want {
			t.Errorf("%v and %d samples after a net of %d: %v, want %v", c.ago, c.samples-c.before, c.before, got, c.want)
		}
	}
	between := &players{core: &core{}, between: &inlineGames{ready: make([]*record.Game, 1)}, published: time.Now(), took: time.Hour}
	if err := between.refresh(); err != nil { // there is no trainer whose net could be had
		t.Error("a net though games of the cohort wait")
	}
	between.between.ready = nil
	defer func() {
		if recover() == nil {
			t.Error("no net for players between steps")
		}
	}()
	_ = between.refresh()
}

// Nets play games throughout a short training: no more than a sixteenth of its games are
// ahead of the trainer, though there is room for all of them.
func TestPlayersWait(t *testing.T) {
	most, episodes := int64(0), int64(0)
	ahead := monitor.SinkFunc(func(e monitor.Event) error {
		if e, ok := e.(*monitor.Episode); ok {
			most, episodes = max(most, e.Totals.Games-e.Episode), e.Episode
		}
		return nil
	})
	_, log, err := tryTrain(t, t.Context(), t.TempDir(), "--episodes=48 --producer-workers=2 --games-per-worker=16 --producer-queue-size=48 --train-steps-per-episode=8", ahead)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if episodes != 48 || most > 48/leadShare {
		t.Errorf("%d episodes; %d games were ahead of the trainer", episodes, most)
	}
}

// Where averaged weights are exported, they play the run's games.
func TestAveragedPlay(t *testing.T) {
	games := map[string][]*record.Game{}
	for _, weights := range []string{"RAW", "SWA"} {
		dir := t.TempDir()
		train(t, dir, "--deterministic=true --episodes=20 --swa-period=1 export { weights: "+weights+" }")
		games[weights] = gamesOf(t, dir)
	}
	raw, averaged := games["RAW"], games["SWA"]
	if len(raw) != 20 || len(averaged) != 20 || !reflect.DeepEqual(raw[0].Plies, averaged[0].Plies) {
		t.Fatalf("%d and %d games, the first of the same net; want 20 each", len(raw), len(averaged))
	}
	if raw[19].Plies[0].Orig == averaged[19].Plies[0].Orig {
		t.Error("after the steps of 19 games the averaged weights see the start as the trained ones do")
	}
}
