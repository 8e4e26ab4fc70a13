// Package selfplay plays games of a network against itself. A worker keeps many
// games in lock step over one evaluator: it gathers one leaf of each game's
// search, has the batch evaluated, and goes on; a finished game goes to the sink
// and its place to the next ticket.
//
//	stats := new(selfplay.Stats)
//	w, err := selfplay.NewWorker(selfplay.WorkerConfig{
//		Game:     selfplay.DefaultGameConfig(),
//		RunSeed:  7,
//		Parallel: 64,
//		Tickets:  selfplay.NewTickets(0, 200),
//		Nets:     nets, // the worker's own view of them
//		Sink:     sink,
//		Stats:    stats,
//	})
//	if err != nil {
//		return err
//	}
//	err = w.Run(ctx) // errors.Is(err, selfplay.ErrStopped) after a cancel
//
// A game is a pure function of (run seed, process, ordinal, net): neither the
// games beside it, nor their number, nor the cache changes a move. Where new
// weights arrive in the middle of a game, the game says so in its flags.
//
// A game may have branches, games and single positions that leave it by a move
// that it did not play (Fork): they follow it in its place, with records and
// ordinals of their own (BranchOrdinal), and are a function of the same four.
//
// What the rows say: a full search has the flag record.FullSearch and a weight;
// a cheap one of PlayoutCap has weight 0; the plies of an opening, be they of a
// line, random, or drawn from the policy, have no policy and weight 0.
//
// Every game handed to the sink is whole and knows its end reason. A game at
// the ply limit has the reason MaxPlies and flagged rows, and is a draw unless
// MaxPliesMaterial says otherwise. Games that
// a stop leaves under way are never handed out; they are gone on with
// (Unfinished), or dropped, which frees their ordinals.
//
// With Pools 2 the games are two halves that take turns: while the batch of one
// is evaluated on a device, the tree work of the other is done.
//
// A [Reanalyser] searches the positions of finished games again, and gives them the
// targets that self-play would have recorded.
package selfplay
