// Package ratings makes a run's catalogue: it reads the nets, the matches and the
// lists of published files of a run directory, rates everybody who played, and
// writes the index (package catalogue). Play plays the matches that are missing.
//
//	c, err := ratings.Update(ctx, "runs/chessbrain", ratings.UpdateOptions{Log: logger})
//	for _, r := range c.Ratings {
//		fmt.Printf("%-40s %6.0f +- %.0f\n", r.Name, r.Elo, 1.96*r.Error)
//	}
//	s, err := ratings.Play(ctx, ratings.Options{Effective: e, Log: logger})
//
// All matches whose logs lie in the run count: those of the gatekeeper
// (gatekeeper/<net>/match.jsonl) and those of Play (matches/<A>__<B>.jsonl). The
// ratings are fitted anew each time from all games, so a restart or a resume never
// begins a new list, and removing the catalogue loses nothing.
//
// A net is who it is by the SHA-256 of its file: a log of another net of the same
// name counts for a player of its own. Opponents that never change are the frozen
// anchors: the first net, the player of random moves (RandomMover), UCI engines at
// fixed nodes and skill. The random mover is the zero of the list; where it has not
// played, the random weights that the gatekeeper began with, or the first net.
//
// Matches of the gatekeeper end when they are decided, which favours who leads
// then; a list that rests on them alone is a little too far apart.
package ratings
