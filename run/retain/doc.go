// Package retain removes what a run does not need any more: old shuffles, game
// files, rejected nets, and, where the configuration says so, old accepted nets
// and the games of old gatekeeper matches.
//
//	report, err := retain.Run(ctx, retain.Options{Root: "runs/a", Keep: setup.RetentionOf(c), DryRun: true})
//	if err == nil {
//		err = report.Write(os.Stdout)
//	}
//
// Three rules stand above every limit. What is referenced stays: game files of the
// newest shuffle's window or newer than it, of a shuffle under way, of the journal
// and of a checkpoint's windows; shuffles that a trainer is at or would go on from;
// the first, the newest and the best accepted net. What the run did not make
// stays: files must say that they are its own (a chunk's header, a net's metadata,
// a shuffle's marker, a match's result). What is pinned stays (chessbrain pin).
//
// Game files that are removed go on to count: selfplay/removed.jsonl (package
// replay) keeps their rows for the window's formula and the names of nets, and
// their numbers, so that no game is played twice.
//
// Checkpoints have their own rule: training.checkpoint.
package retain
