package mcts_test

import (
	"context"
	"fmt"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// One search: the tree asks for the leaves that it needs, the caller answers them.
// White has a mate on the back rank. The evaluator knows no chess, so that the tree
// alone finds the mate and proves it.
func ExampleSearch() {
	board, err := chess.ParseFEN("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1")
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := mcts.DefaultConfig()
	cfg.Simulations = 100
	s := mcts.New(&cfg, nil) // nil: no cache of answers
	s.Reset(chess.NewHistory(board))
	s.Begin(nil, false) // no noise, so that no random numbers are needed

	var net mcts.HashEvaluator // in a run: nn/cpu or nn/cuda
	batch := encoding.NewBatch(1)
	for !s.Done() {
		batch.Reset()
		s.Gather(batch, 1) // select: down the tree to a leaf
		if err := net.Evaluate(context.Background(), batch); err != nil {
			fmt.Println(err)
			return
		}
		s.Apply(batch) // expand the leaf, back its value up
	}

	root := s.Root()
	best := root.Moves[root.Best]
	fmt.Println(len(root.Moves), "legal moves")
	fmt.Println(board.SAN(best.Move), "is a proven", best.Proven)
	// Output:
	// 20 legal moves
	// Rd8# is a proven win
}
