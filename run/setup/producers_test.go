package setup

import (
	"runtime"
	"testing"
)

// TestProducers: how many goroutines play beside a trainer and in a process that only plays.
func TestProducers(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	for text, want := range map[string][2]int{ // beside a trainer, alone
		"seed: 7":                                   {0, cores},
		"selfplay { producer_workers: 0 }":          {0, cores}, // as all runs of before have it
		"selfplay { producer_workers: 3 }":          {3, 3},
		"selfplay { producer_on_each_core: true }":  {cores, cores},
		"selfplay { producer_on_each_core: false }": {0, cores},
	} {
		e := resolve(t, text)
		alone, err := SelfPlayOf(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]int{TrainingOf(e).Episodes.Workers, alone.Workers}; got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestTakesPlayers: games of others enter unless the trainer plays between its steps, or
// trains on rows of another kind.
func TestTakesPlayers(t *testing.T) {
	for text, want := range map[string]bool{
		"selfplay { producer_workers: 0 }":                                          false,
		"selfplay { producer_workers: 3 }":                                          true,
		"training { source: DIR }":                                                  true,
		"training { source: SHUFFLED } selfplay { producer_workers: 3 }":            false,
		`training { data: "games.pgn" epochs: 1 } selfplay { producer_workers: 3 }`: false,
	} {
		if got := TakesPlayers(resolve(t, text).Config); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
