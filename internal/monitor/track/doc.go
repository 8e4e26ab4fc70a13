// Package track keeps the metrics of a run where people have those of their other
// programs: in a file store of MLflow, and in an offline run of Weights & Biases.
//
//	f := track.New(track.Options{Metrics: "runs/x/metrics/x/metrics.jsonl", Name: "x",
//		MLflow: "mlruns", Wandb: "wandb"})
//	err := f.Update() // as often as wanted
//	err = f.Close()   // the end: what is there now, and how the run ended
//
// All that is written follows from metrics.jsonl. A Follower writes a run anew when it
// begins, and appends what comes after. So nothing is doubled or lost where the file was
// cut back to a checkpoint, or where a process was killed. A run has the same id in every
// program: it is a hash of the job and of the time of the first event. A run that was killed
// before its first checkpoint begins anew, and gets another one.
package track
