// Package ladder places a player on the ladder: a list of frozen opponents, from
// random moves over the greedy player and Stockfish's skill levels to Stockfish
// with a fixed number of nodes, whose distances were measured once and stay.
//
//	engine, err := ladder.FindEngine(ctx, "") // without one the lowest rungs are played
//	r, err := ladder.Climb(ctx, net, ladder.Options{Engine: engine, Games: 400, Error: 40})
//	fmt.Printf("%.0f +- %.0f above random moves\n", r.Elo, r.Error)
//
// A climb finds the rungs that matter by itself: it plays pairs of games against
// the rung that its estimate makes the most informative, a few at a time, until the
// error is small. What counts is the score against each rung with its games and
// error; the rating is a summary, comparable on this ladder alone.
package ladder
