// Package prepare prepares games for training in steps, each from directories
// into a directory of its own: Preprocess combines the games of several
// directories, drops doubles and splits them into chunk files; Process marks
// which positions are trained on.
//
//	m, err := prepare.Preprocess(ctx, prepare.Options{
//		Inputs: []prepare.Input{{Dir: "data/selfplay_20260101_120000"}}, Out: "data/cleaned/run_20260101_120000", ChunkSize: 10000})
//	m, err = prepare.Process(ctx, prepare.Options{Inputs: ..., Out: "data/processed/...", ChunkSize: 10000, Select: selector})
//	removed, err := prepare.Cleanup(fsx.OS, "data/cleaned/run_20260101_120000")
//
// Each step keeps a manifest in its directory: what it was made of, how, and
// every file that it wrote with size and SHA-256. A step that was stopped goes on
// where its manifest ends; one that is done is not done again; one that was asked
// for otherwise is refused. A step without input is ErrNoInput, never an empty
// success. Cleanup removes the files of a manifest and nothing else, and nothing
// that is pinned (Pin). Step is for steps whose files other code writes.
package prepare
