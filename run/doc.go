// Package run runs a training: it plays or finds games, lets each enter once,
// trains on the window, saves, measures, publishes and reports, and goes on
// after a stop or a kill (docs/RUN.md, docs/RELIABILITY.md).
//
// The order of things is this: a finished game is made durable by the Store; a
// feed hands it to the loop; its line goes into the Journal; it enters the
// training window or the validation games; optimizer steps follow. A checkpoint
// holds all that decides the next step. A restart fills the windows with the
// checkpoint's games, lets the journal's later games enter again in their
// order, then the other durable ones, and plays only what is missing.
//
//	e, err := config.Resolve(config.Input{Path: "run.textproto"})
//	summary, err := loop.Train(ctx, loop.Options{Effective: e, Log: logger})
//	if errors.Is(err, loop.ErrInterrupted) {
//		// ctx ended; everything is saved and the same call goes on
//	}
//	err = summary.Write(os.Stdout)
//
// Stages are what a run does with a game, a window and a net: rescorers, a
// sampler, an exporter, built in or programs. They can be exchanged while it runs,
// between two steps (Swap, Options.Reload).
//
// SelfPlay is the process that only plays, for a Train whose source is a
// directory. Control and Send are the two ends of a process's control socket.
package run
