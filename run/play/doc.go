// Package play is a process that plays: nets in, durable games out.
//
//	e, err := config.Resolve(config.Input{Path: "run.textproto"})
//	if err != nil {
//		return err
//	}
//	s, err := play.SelfPlay(ctx, play.SelfPlayOptions{Effective: e, MaxGames: 1000, Log: logger})
//	if errors.Is(err, run.ErrInterrupted) {
//		// ctx ended; games under way are saved and the same call continues them
//	}
//	err = s.Write(os.Stdout)
//
// Any number of these processes share a run directory. Each has a number of its own
// and counts its games itself. Nothing is agreed upon while they play, and no game is
// played twice: its id is made of the run's seed, the process and the number.
//
// Nets brings the newest weights to all workers, which take them up between two
// batches. Where there is no net yet they play random weights: a run has to begin with
// games.
//
// Store makes games durable, for package train too. It rescores a game, appends it to
// a chunk file and syncs; only then the game is handed on. A trainer that learnt from
// a game that a power cut takes back could not repeat its steps. Many games share one
// sync, because a sync takes longer than many small games. A full queue holds the
// players up; nothing is dropped.
//
// Outputs writes games in other forms, PGN and Leela's chunks, once they are durable.
package play
