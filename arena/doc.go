// Package arena plays matches between two players: nets with their own search
// settings, UCI engines, random movers, a fixed greedy player.
//
//	openings, err := arena.Vary(nil, 100, 8, seed) // 100 times 8 random plies
//	if err != nil {
//		return err
//	}
//	log, done, err := arena.OpenLog(fsx.OS, "match.jsonl", arena.LogHeader{Seed: seed, ...})
//	if err != nil {
//		return err
//	}
//	defer log.Close()
//	test := arena.SPRT{Elo1: 10, Alpha: 0.05, Beta: 0.05}
//	result, err := arena.Play(ctx, arena.Config{
//		Players:  [2]arena.Player{net, arena.Greedy()},
//		Openings: openings,
//		Seed:     seed,
//		Workers:  2,
//		Done:     done, // a match that was stopped goes on where it was
//		Log:      log,
//		Decided:  func(p arena.Progress) bool { return test.Test(p.Pairs).Decision != "" },
//	})
//	fmt.Println(arena.Summarise(result.Games).Estimate.Elo, test.Judge(result.Games).Decision)
//
// Games come in pairs: each opening is played twice with the colours exchanged,
// and what is said of the players' strength (Elo, its error, LOS, the sequential
// test) is computed from the pairs, because the two games of one opening are not
// independent.
//
// A worker advances many games in lock step: one evaluation answers the leaves
// of all games in which a player is to move. A game depends on the match's seed,
// its number, its opening and its players alone: neither the games beside it, nor
// the number of workers, nor a stop in between changes a move. That does not
// hold for players with limited time, and for engines only as far as they
// themselves repeat what they did; both have a worker to themselves.
//
// The rules end a game, or a limit of plies, which makes it a draw, or an
// adjudication (Adjudication), or the failure of an engine, which loses it. An
// interrupted match returns the games that are finished.
package arena
