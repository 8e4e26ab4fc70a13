// Package daemon lets another program train: it reads JSON lines from its input
// and writes JSON lines to its output, each {"type", "payload"}, in the manner of
// lczero-training's daemon (its commit 7c5d756), and says more than that one does.
//
// It takes start_training {"config_filepath"} and start_training_immediately, as
// lczero's does, and also status, checkpoint_now and stop. It gives
// training_status every 1.1 seconds with lczero's fields (names, units and the
// JSON form of DataLoaderMetricsProto) and ours beside them, and also hello, ack,
// error, training_started, training_finished, event and gate. Every line gets an
// ack or an error, and a bad one costs that line only. With Options.Plain it
// writes nothing but training_status with lczero's fields, for programs that end
// at a type that they do not know.
//
//	err := daemon.Run(ctx, daemon.Options{
//		In: os.Stdin, Out: os.Stdout, Version: version, Prepare: prepare, Log: log,
//	})
//
// When the input ends, or ctx does, a training under way finishes its step and
// saves; Run then returns what the last training returned, run.ErrInterrupted
// in that case. docs/LOOP.md has every message with its fields.
package daemon
