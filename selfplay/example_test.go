package selfplay_test

import (
	"context"
	"fmt"

	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/selfplay"
)

// games is a Sink that keeps finished games in memory. A run has run/play.Store,
// which makes each game durable before anybody learns from it.
type games []*record.Game

func (s *games) Put(_ context.Context, g *record.Game) error {
	*s = append(*s, g)
	return nil
}

// oneNet is a source of one net only, which is none but answers like one.
type oneNet struct{}

func (oneNet) Current() selfplay.Net {
	return selfplay.Net{ID: "hash", Evaluator: &mcts.HashEvaluator{}}
}

// One game: a worker takes a ticket, plays the game of that number and hands it to
// the sink. The game is a function of its seed and number alone, so that it can be
// played again, move for move.
func ExampleWorker() {
	rules := selfplay.DefaultGameConfig()
	rules.Search.Simulations = 8
	rules.MaxPlies = 12 // a game that reaches it ends as a draw, and says why

	var played games
	stats := new(selfplay.Stats)
	w, err := selfplay.NewWorker(selfplay.WorkerConfig{
		Game:     rules,
		RunSeed:  7,
		Parallel: 1, // games in lock step; a run has many, whose leaves make one batch
		Tickets:  selfplay.NewTickets(0, 1),
		Nets:     oneNet{},
		Sink:     &played,
		Stats:    stats,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}

	g := played[0]
	fmt.Println("game", g.Ordinal, "of net", g.NetID, "is valid:", g.Validate() == nil)
	fmt.Println(len(g.Plies), "plies, ended by", g.End, "with White's result", g.WhiteResult)
	var moves int
	for _, n := range g.Plies[0].Counts {
		if n > 0 {
			moves++
		}
	}
	fmt.Println("the first search made", g.Plies[0].Visits, "visits and looked at", moves, "of", len(g.Plies[0].Counts), "moves")
	// Output:
	// game 0 of net hash is valid: true
	// 12 plies, ended by max-plies with White's result 0
	// the first search made 9 visits and looked at 5 of 20 moves
}
