// Package arena plays matches between two players: nets with their own search
// settings, random movers, a fixed greedy player.
//
//	openings, err := arena.Vary(nil, 100, 8, seed) // 100 times 8 random plies
//	if err != nil {
//		return err
//	}
//	result, err := arena.Play(ctx, arena.Config{
//		Players:  [2]arena.Player{net, arena.Greedy()},
//		Openings: openings,
//		Seed:     seed,
//		Workers:  2,
//	})
//	fmt.Println(arena.Summarise(result.Games).Estimate.Elo)
//
// Games come in pairs: each opening is played twice with the colours exchanged,
// and what is said of the players' strength (Elo, its error, LOS) is computed
// from the pairs, because the two games of one opening are not independent.
//
// A worker advances many games in lock step: one evaluation answers the leaves
// of all games in which a player is to move. A game depends on the match's seed,
// its number, its opening and its players alone: neither the games beside it nor
// the number of workers changes a move.
//
// The rules end a game, or a limit of plies, which makes it a draw. An
// interrupted match returns the games that are finished.
package arena
