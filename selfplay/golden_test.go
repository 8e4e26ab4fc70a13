package selfplay

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/chessbrain/chessbrain/record"
)

// digest returns a hash of the games' bytes on disk, by ordinal from 0 on.
func digest(t *testing.T, games map[uint64]*record.Game) string {
	t.Helper()
	var all []byte
	for ordinal := range uint64(len(games)) {
		var err error
		if all, err = record.Append(all, games[ordinal]); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%x", sha256.Sum256(all))[:16]
}

// What is not switched on leaves games as they always were: stored ordinals are
// played again from their seeds.
func TestDefaultGamesStayAsTheyAre(t *testing.T) {
	games, _ := play(t, 12, func(c *WorkerConfig) { c.Game.Search.Simulations = 16 })
	if got, want := digest(t, games), "497c3ae513bf91b5"; got != want {
		t.Errorf("default games: %s, want %s", got, want)
	}
	games, _ = play(t, 12, func(c *WorkerConfig) {
		c.Game.Openings, _ = NewOpenings(nil, OrderRandom, 3)
		c.Game.Resign = Resign{Enabled: true, Q: -0.3, Plies: 2, PlayThrough: 0.5}
		c.Game.Temperature = Temperature{Start: 0.75, HalfLife: 19, Floor: 0.15}
	})
	if got, want := digest(t, games), "4dea27ec7aa5f9f9"; got != want {
		t.Errorf("games with openings and resignations: %s, want %s", got, want)
	}
}
