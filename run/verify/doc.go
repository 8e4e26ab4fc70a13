// Package verify reads everything that a run has written, changes nothing, and
// lists what is not as it should be:
//
//	report, err := verify.Path(ctx, "runs/chessbrain")
//	for _, p := range report.Problems {
//		fmt.Println(p.Path, p.Offset, p.Reason, p.Remedy)
//	}
//
// It takes a run directory, any other directory, or a file: games (*.games),
// checkpoints, nets (.safetensors, .pb.gz), events (metrics.jsonl), shuffles,
// pipeline steps, Leela's chunks (.gz, .tar), PGN, unfinished games, matches and the
// gatekeeper's decisions, the journal of cycles, the catalogue. Games are
// decoded, which checks their checksums, plays every move and holds policies
// against the legal moves and the end and the result against the board; then
// their rows are rebuilt as training does. In a run the parts are held against
// each other too: each game of the journal is on disk, a checkpoint's windows hold
// games that are there, no game is there twice, each step stands in the events
// once, each net lies where the gatekeeper decided.
//
// A run at work is no problem: chunks that grow and temporary files belong to
// the processes that hold its locks, which are told.
package verify
