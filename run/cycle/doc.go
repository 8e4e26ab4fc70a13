// Package cycle is the closed loop of one machine: gatekeeper, rating, self-play,
// shuffle, training, export, clean-up, in a circle, from an empty directory on.
//
//	s, err := cycle.Run(ctx, cycle.Options{Effective: e, Log: logger})
//	if errors.Is(err, run.ErrInterrupted) {
//		// ctx ended; everything is saved and the same call goes on
//	}
//
// The file cycles.jsonl is the order of the work: a line when a stage begins, ends
// or is skipped. State is what its lines come to; State.Next says which stage is
// to be done, and nothing else decides it. A stage that was killed is begun again
// and goes on where its own files say: self-play with the games that are not on
// disk, a match with the games that are not in its log, training from its
// checkpoint.
//
// A cycle's self-play is a process of its own number: its games are
// selfplay/<net>/p<number>/, so that what is missing of them is known without
// looking at older ones, and games that retention removed are never played again.
//
// With Options.Stage Run does one stage: a script is a list of them
// (scripts/synchronous_loop.sh). Do is the engine below: stages as functions over a
// Book, which pipelines have, too.
//
// ReadStatus gathers one page of state from files, locks and control sockets. It
// asks nobody who is not there and works for any mix of processes.
package cycle
