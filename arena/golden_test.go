package arena

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// TestSameGames holds the games of a seed: matches that people have played can
// be played again. HashEvaluator's arithmetic is the same on every CPU.
func TestSameGames(t *testing.T) {
	chance := func(s *Settings) { s.Temperature, s.TemperaturePlies = 1, 20 }
	gumbel := func(s *Settings) { s.Search.Gumbel.Enabled, s.TreeReuse = true, false }
	for _, c := range []struct {
		players [2]Player
		want    string
	}{
		{[2]Player{Greedy(), Random()}, "bb6f38918e61eef2"},
		{[2]Player{hashNet(t, "a", 1, 12, chance), hashNet(t, "b", 2, 7, gumbel)}, "e1b8316b70bbda4a"},
	} {
		r := play(t, Config{Players: c.players, Openings: openings(t, 6), Seed: 11, MaxPlies: 120, Workers: 2})
		var file bytes.Buffer
		if err := r.WritePGN(&file); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(file.Bytes())
		if got := hex.EncodeToString(sum[:8]); got != c.want {
			t.Errorf("%s: the games' PGN has hash %s, want %s", r.Names, got, c.want)
		}
	}
}
