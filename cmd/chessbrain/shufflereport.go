package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

// shuffleReport is what a shuffle, or the plan of one, came to.
type shuffleReport struct {
	DryRun  bool    `json:"dry_run"`
	Dir     string  `json:"dir,omitempty"`
	Seconds float64 `json:"seconds"`
	Have    int64   `json:"have_rows,omitempty"` // set where there are not enough
	Need    int64   `json:"need_rows,omitempty"`

	plan     *shuffle.Plan     // nil where there were not enough rows
	manifest *shuffle.Manifest // nil in a dry run
}

// write prints the report as text or as one JSON object: the report's fields,
// with train.json's in "shuffle", or the plan's in "plan".
func (r *shuffleReport) write(out io.Writer, asJSON bool) error {
	if asJSON {
		object := struct {
			*shuffleReport
			Plan     *shuffle.Plan     `json:"plan,omitempty"`
			Manifest *shuffle.Manifest `json:"shuffle,omitempty"`
		}{shuffleReport: r, Manifest: r.manifest}
		if r.manifest == nil {
			object.Plan = r.plan
		}
		return json.NewEncoder(out).Encode(object)
	}
	if r.plan == nil {
		return nil // the error says all
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	r.writePlan(row)
	if m := r.manifest; m != nil {
		bytes := int64(0)
		for _, files := range [][]shuffle.OutFile{m.Train, m.Val} {
			for _, f := range files {
				bytes += f.Bytes
			}
		}
		rows := m.TrainRows + m.HeldRows
		row("written", "%s in %s, %s in %d", monitor.Count(m.TrainRows, "training row"), monitor.Count(len(m.Train), "file"), monitor.Count(m.HeldRows, "validation row"), len(m.Val))
		row("size", "%.1f MiB, %.0f bytes a row", float64(bytes)/(1<<20), float64(bytes)/float64(max(1, rows)))
		row("time", "%.1f s, %.0f rows/s", r.Seconds, float64(rows)/r.Seconds)
		row("shuffle", "%s", r.Dir)
	} else if r.Need == 0 {
		row("nothing is created", "this is a dry run")
	}
	return w.Flush()
}

// writePlan prints the window with the run's numbers.
func (r *shuffleReport) writePlan(row func(name, format string, args ...any)) {
	p := r.plan
	row("games", "%d in %s, %s, %s", p.Games, monitor.Count(p.Files, "file"), monitor.Count(p.Duplicates, "duplicate"), monitor.Count(len(p.Quarantine), "fault"))
	row("rows", "%d of trained nets, %d of untrained ones: %d usable", p.RealRows, p.RandomRows, p.Usable)
	if r.Need > 0 {
		row("window", "have %d rows, need %d", r.Have, r.Need)
		return
	}
	for k, line := range strings.Split(p.Window.Explain(p.Usable), "\n") {
		row([]string{"formula", ""}[min(k, 1)], "%s", line)
	}
	row("window", "the newest %s: rows %d to %d, %d in all, and %d for validation",
		monitor.Count(len(p.Inputs), "file"), p.Range[0], p.Range[1], p.Used, p.ValRows)
	row("kept", "%.4g of them, about %d and %d", p.KeepShare, p.Expected(p.Used), p.Expected(p.ValRows))
	row("files", "%d for training, %d for validation, of %d buckets each", p.TrainFiles, p.ValFiles, p.BucketsPerFile)
	if r.DryRun {
		const mib = 1 << 20
		row("memory", "%.0f MiB for buckets, and a game file for each thread", float64(p.Memory())/mib)
		row("disk", "%.0f MiB, and as much for scratch files", float64(p.DiskBytes())/mib)
	}
}

// indent puts two spaces before each line.
func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
