// Package train is the training loop: rows come, a pace allows a step, checkpoints and
// nets leave.
//
//	e, err := config.Resolve(config.Input{Path: "run.textproto"})
//	if err != nil {
//		return err
//	}
//	summary, err := train.Train(ctx, train.Options{Training: setup.TrainingOf(e), Log: logger})
//	if errors.Is(err, run.ErrInterrupted) {
//		// ctx ended; everything is saved and the same call continues
//	}
//	err = summary.Write(os.Stdout)
//
// Rows come from a window of games, from a shuffle, or from a loader. Games come from
// players of this process, of other processes, or from files.
//
// The order of things makes a kill harmless. A finished game is made durable by
// play.Store. Its line goes into the run.Journal, and only then the game enters the
// window, or the validation games, which are never trained on. Its steps follow. A
// checkpoint holds all that decides the next step, so that a resumed run comes to the
// same weights as one that was not stopped (--deterministic).
//
// A restart fills the windows with the checkpoint's games. The journal's later games
// enter again in their order, without new lines. The other durable games enter next,
// and only what is missing is played. Steps since the checkpoint are repeated; they
// were never anybody's but the dead process's.
//
// Stages (rescorers, sampler, exporter) can be exchanged while a run trains. That
// happens between two steps, where no row is under way.
package train
