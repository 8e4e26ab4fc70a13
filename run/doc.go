// Package run is a run directory: where each thing lies, who holds which role, and
// how a process there is watched and stopped.
//
// It knows files and events only, no training, search or configuration. So every
// process of a run can use it, and a change of the training cannot change the names
// on disk. The packages below do the work: setup makes the parts of a run, play plays,
// train trains, and cycle does all stages in a circle (docs/ARCHITECTURE.md).
//
// Dir says where things lie, so that a place has one spelling. The Journal has a line
// for each game that entered the training, synced before the game counts: so no game
// enters twice. RunInfo is run.json, which tells a later start whether the directory is
// of its run.
//
//	d := run.NewDir("runs/first", "main", job, "", "")
//	journal, entries, err := run.OpenJournal(d.Journal()) // entries: what entered so far
//	if err != nil {
//		return err // damaged: exit code 3, nothing is guessed
//	}
//	defer journal.Close()
//	err = journal.Enter(run.Entry{Episode: int64(len(entries)) + 1, Game: id})
//
// Process.Listen opens the socket of a running process, and Send is its other end: status,
// events, checkpoint-now, stop. A socket and not signals alone, because a question
// needs an answer.
//
// ErrInterrupted ends every process that was stopped and saved its work (exit code 5).
// docs/RUN.md has the layout, docs/RELIABILITY.md the promises and their tests.
package run
