// Package pipeline runs the steps of a pipeline one after the other: self-play,
// preprocessing, processing, shuffling, training.
//
//	opt := runner.Options{Base: "data", Results: "results", Steps: runner.AllSteps(), NumGames: 1000, NumWorkers: 3, ...}
//	opt.T = opt.NewT(time.Now())
//	plan, err := runner.Check(opt) // creates nothing
//	report, err := runner.Run(ctx, opt)
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
// Each directory of data has a manifest (pipeline.json); what a manifest says is
// done is not done again, and each step goes on where it was stopped. A step
// without input ends the run with pipeline.ErrNoInput. When all steps are done,
// what this run made on the way and later steps have used up is removed: by its
// manifest, never a directory that was named to it, nothing that is pinned.
//
// Sweep trains one net for each point of a grid on the same rows.
package pipeline
