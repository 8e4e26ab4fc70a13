// Package gate is the gatekeeper: each new net plays a match against the newest
// accepted one, and only a net that wins it plays in self-play.
//
//	summary, err := gate.Run(ctx, gate.Options{Effective: e, Once: true, Log: logger})
//	if errors.Is(err, run.ErrInterrupted) {
//		// ctx ended; every finished game is on disk and the same call goes on
//	}
//	err = summary.Write(os.Stdout)
//
// Candidates are files of modelstobetested/; the newest (by time of writing, as
// self-play chooses) comes first. The baseline is the newest net of models/, or,
// while there is none, random weights of the candidate's architecture. A
// candidate that is older than the newest accepted net is rejected without a
// match, unless the configuration says otherwise.
//
// What a match leaves behind lies in gatekeeper/<net>/: match.jsonl with each game
// once it is finished, games.pgn and result.json. result.json is durable before
// the file moves to models/ or rejectedmodels/, and the directory selfplay/<net>/
// is there before the net is: after a kill at any moment the next start plays
// only the games that are missing, or makes the move that was decided.
//
// The match ends as soon as it is decided: when the candidate has the points that
// it needs or can no longer reach them, or when the sequential test (arena.SPRT)
// knows.
package gate
