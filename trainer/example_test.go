package trainer_test

import (
	"context"
	"fmt"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/trainer"
)

// gameRows is a BatchSource: a micro-batch is all positions of one game, again and
// again. A run draws rows from a window of games (replay), through a sampler.
type gameRows struct {
	game   *record.Game
	replay record.Replayer
}

func (s *gameRows) Next(_ context.Context, b *encoding.TrainBatch) error {
	for ply := range s.game.Plies {
		if err := s.replay.AppendRow(b, s.game, ply); err != nil {
			return err
		}
	}
	return nil
}

// One step: rows of a game go through the net and back, and the weights change once.
// The rows are the positions of fool's mate. Nine more steps on the same rows learn its
// moves. L2 is a loss of the weights: it counts no rows.
func ExampleTrainer_Step() {
	game, err := foolsMate()
	if err != nil {
		fmt.Println(err)
		return
	}
	arch := nn.Tower(8, 1)
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.Workers = len(game.Plies), 1
	cfg.Losses = trainer.LossesFor(arch, cfg.Losses)
	t, err := trainer.New(nn.Init(arch, 7), cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()

	rows := &gameRows{game: game}
	first, err := t.Step(context.Background(), rows)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("step", first.Step, "of", first.Rows, "rows, skipped:", first.Skipped)
	for _, loss := range first.Losses {
		fmt.Println(loss.Metric, "of", loss.N, "rows")
	}
	last := first
	for range 9 {
		if last, err = t.Step(context.Background(), rows); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("after step", last.Step, "the policy loss is lower:", last.Losses[0].Mean < first.Losses[0].Mean)
	// Output:
	// step 1 of 4 rows, skipped: false
	// policy_loss of 4 rows
	// value_loss of 4 rows
	// moves_left_loss of 4 rows
	// l2_loss of 0 rows
	// after step 10 the policy loss is lower: true
}

// foolsMate is the record of a game whose searches looked at the played moves alone.
func foolsMate() (*record.Game, error) {
	g := &record.Game{NetID: "book", WhiteResult: -1, End: record.EndCheckmate}
	h := chess.NewHistory(chess.StartBoard())
	for _, san := range []string{"f3", "e5", "g4", "Qh4#"} {
		m, err := h.Board().ParseSAN(san)
		if err != nil {
			return nil, err
		}
		var legal chess.MoveList
		h.Board().GenerateMoves(&legal)
		unknown := encoding.UnknownQDM
		ply := record.Ply{Move: m, Kind: record.PolicyCounts, Counts: make([]uint32, legal.N), Weight: 1,
			Root: unknown, Best: unknown, Played: unknown, Orig: unknown}
		for i := range legal.N {
			if legal.Moves[i] == m {
				ply.Counts[i] = 1
			}
		}
		g.Plies = append(g.Plies, ply)
		h.Push(m)
	}
	return g, g.Validate()
}
