package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/internal/testing/slow"
)

// cutEach runs a command and cuts the power after each of its operations, about so many of them
// in the short form: the same command goes on by itself, and check finds nothing wrong.
func (s *shaky) cutEach(some int, args []string, check func()) {
	s.Helper()
	r := s.again(args, check)
	ops := r.Ops()
	what := func(n int) string {
		return fmt.Sprintf("cut after %d of %d operations: %v", n, len(ops), ops[max(n, 1)-1])
	}
	s.each(len(ops), some, what, func(n int) {
		s.count(r, n)
		s.cut(r, n, memfs.Random(uint64(n)))
		s.again(args, check)
	})
}

// TestPowerCutTrain: a run goes on after a power cut at any operation.
func TestPowerCutTrain(t *testing.T) {
	for _, workers := range []string{"0", "2"} {
		t.Run("workers "+workers, func(t *testing.T) {
			s := newShaky(t, trainRecipe)
			s.cutEach(8, s.train(4, "--producer-workers", workers), func() { s.check(4) })
		})
	}
}

// TestPowerCutTrainAgain cuts what a start after a power cut does, time after time, in a run
// that grows and writes all that it can write.
func TestPowerCutTrainAgain(t *testing.T) {
	s, rng, rounds, episodes := newShaky(t, trainRecipe), rand.New(rand.NewPCG(3, 3)), 8, 2
	if slow.On {
		rounds = 40
	}
	more := []string{"--override-config", "selfplay.pgn_share=1,selfplay.lc0_chunks=true,export.every_checkpoints=1,export.keep=2"}
	for round := range rounds {
		workers := fmt.Sprint(rng.IntN(3))
		r := s.again(append(s.train(episodes, more...), "--producer-workers", workers), func() { s.check(episodes) })
		ops := r.Ops()
		n := rng.IntN(len(ops) + 1)
		s.count(r, n)
		s.cut(r, n, memfs.Random(uint64(round)))
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
		t.Logf("round %d: cut after %d of %d operations: %v", round, n, len(ops), ops[max(n, 1)-1])
		if round%2 == 1 && episodes < 20 {
			episodes += 2
		}
	}
	s.again(s.train(episodes, more...), func() { s.check(episodes) })
}

// TestPowerCutSelfplay: the same of a process that only plays.
func TestPowerCutSelfplay(t *testing.T) {
	s := newShaky(t, trainRecipe)
	s.cutEach(6, s.args("selfplay", "--producer-workers", "1", "--max-games-total", "4"), func() { s.verify() })
}

// loopRecipe is the smallest closed loop.
const loopRecipe = `
selfplay { games_per_worker: 4 max_plies: 12 producer_workers: 1 }
mcts { simulations: 4 cache_entries: 100 }
model { arch { conv_tower { filters: 8 blocks: 1 } value_channels: 4 value_hidden: 8 moves_left_channels: 2 moves_left_hidden: 8 } }
training { threads: 1 batch_size: 8 samples_per_epoch: 32 validation { share: 0.1 max_rows: 16 } }
loop {
  cycles: 2 games_per_cycle: 12 samples_per_cycle: 64
  shuffle { min_rows: 60 keep_target_rows: 500 taper_window_scale: 60 }
  gatekeeper { games: 4 visits: 4 opening_plies: 4 max_plies: 12 }
  rating { games: 2 opponents: 1 visits: 2 }
}
`

// TestPowerCutLoop: the same of the closed loop.
func TestPowerCutLoop(t *testing.T) {
	s := newShaky(t, loopRecipe)
	s.cutEach(5, s.args("run"), func() { s.verify() })
}
