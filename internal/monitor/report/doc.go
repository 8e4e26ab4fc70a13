// Package report makes plots and a short summary of a run from its
// metrics.jsonl, and from nothing else.
//
//	data, err := report.Read("runs/x/metrics/x/metrics.jsonl")
//	files, err := report.Write(data, "runs/x/report", "") // SVG and report.md
//	fmt.Print(report.Summary(data))
package report
