// Package pipeline runs the steps of a pipeline one after the other: self-play,
// preprocessing, processing, shuffling, training.
//
//	opt := pipeline.Options{Base: "data", Steps: pipeline.AllSteps(), Games: pipeline.Games{NumGames: 1000, ...}, ...}
//	opt.T = opt.NewT(time.Now())
//	err := pipeline.Check(opt) // creates nothing
//	state, err := pipeline.Run(ctx, opt)
//
// Every run has a name T (YYYYMMDD_HHMMSS, UTC) that all its directories carry:
//
//	BASE/pipeline_T.json            what was asked for, and which steps are done
//	BASE/nets_T/NAME.safetensors    the net that plays and that training begins with
//	BASE/selfplay_T/worker_N/       a run directory a worker
//	BASE/cleaned/run_T/             games without doubles, in chunks
//	BASE/processed/run_T/           the same with the positions chosen
//	BASE/processed/shuffled_T/      training rows
//	BASE/processed/temp_buckets_T/  while they are shuffled
//	BASE/processed/mix_T/           links to the row files of several shuffles
//	RESULTS/run_T/                  the training run
//
// Each directory of data has a manifest (pipeline.json). What a manifest says is done
// is not done again; each step goes on where it was stopped. A step without input ends
// the run with prepare.ErrNoInput. When all steps are done, what this run made on the
// way and later steps have used up is removed: by its manifest, never a directory that
// was named to it, nothing that is pinned.
//
// The steps, and the trials of a sweep, are stages of the engine that closed loops
// have (cycle.Do). pipeline_T.json and the trials' results are their books.
//
// Sweep trains one net for each point of a grid on the same rows.
package pipeline
