// Package tools is the work of the commands around the trainer: losses of a net
// on given rows and dumps of them (eval), learning one batch by heart (overfit),
// the learning-rate range test (tune-lr), a timed pass over data (train-epoch),
// losses of old checkpoints (backfill-metrics), and weights carried over into
// another architecture (migrate-checkpoint). None of them changes what it reads.
//
// A Subject is the net that is looked at, with the configuration that says how
// it is trained; Rows are the rows that it is held against:
//
//	s, err := tools.OpenRun("runs/a", tools.SubjectOptions{})
//	rows, err := tools.OpenRows(ctx, s, tools.Validation)
//	defer rows.Close()
//	r, err := tools.Eval(ctx, s, rows, tools.EvalOptions{})
//	fmt.Println(r.Losses)
//
// Rows of games are the positions that are meant for training: with a policy and
// a weight above 0. Their games are held in memory, some 200 bytes a position;
// shuffled rows and those of a loader are not.
package tools
