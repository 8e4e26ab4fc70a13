// Package mcts is the tree search: select, expand, back up, over an evaluator
// that answers whole batches.
//
// A Search is one game's tree. It never calls the evaluator itself: Gather
// walks down the tree and appends the leaves that need the network to a batch,
// the caller has the batch evaluated, and Apply expands and backs up. So one
// driver can gather one leaf from each of many games before one network call:
//
//	ev := newEvaluator()                        // nn/cpu
//	batch := encoding.NewBatch(len(games))
//	for _, s := range games {
//		s.Begin(rng, true)
//	}
//	for searching {
//		batch.Reset()
//		for _, s := range games {
//			s.Gather(batch, 1)
//		}
//		if err := ev.Evaluate(ctx, batch); err != nil {
//			return err
//		}
//		for _, s := range games {
//			s.Apply(batch)
//		}
//	}
//	stats := games[0].Root()
//	games[0].Advance(stats.Moves[stats.Best].Move)
//
// Several goroutines can search one tree (crew.go): Split gives each a Search of it,
// Join ends that.
//
// Selection is PUCT, or with Config.Gumbel the search of Danihelka et al. 2022
// (gumbel.go, halving.go). A search differs from the next of its game by Options:
// limits, noise, forced playouts (forced.go), moves. Config.Stop ends a search before
// its limits (stop.go). What a network should learn from a root is
// RootStats.Target, or the visits where that is nil; Counts says how the
// simulations ended.
//
// Values: Q in [-1,1], D the draw probability and M the plies left are always
// from the view of the side to move of the node that holds them; what a
// MoveStats says of a move is from the view of the side that plays it.
//
// The package is pure: no I/O, no clock, no logging, and all randomness is
// passed in, so the same seed gives the same tree, if one goroutine makes it. Nodes and edges live in
// slices and are addressed by index; they are reused from move to move and from
// game to game, so that a search in its stride allocates nothing.
package mcts
