package verify

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// Write prints the report for a person.
func (r *Report) Write(out io.Writer) error {
	for _, p := range r.Problems {
		fmt.Fprintln(out, p)
	}
	if more := r.NumProblems - len(r.Problems); more > 0 {
		fmt.Fprintf(out, "... and %d more problems\n", more)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row(r.What, "%s", r.Path)
	count := func(show bool, name, format string, args ...any) {
		if show {
			row(name, format, args...)
		}
	}
	count(r.Chunks > 0, "games", "%d in %s: %s, %s", r.Games, monitor.Count(r.Chunks, "file"), monitor.Count(r.Positions, "position"), monitor.Count(r.Rows, "row"))
	count(r.Entries > 0, "journal", "%s", monitor.Count(r.Entries, "game"))
	count(r.Checkpoints > 0, "checkpoints", "%d", r.Checkpoints)
	count(r.Shuffles > 0, "shuffles", "%d: %s", r.Shuffles, monitor.Count(r.ShuffledRows, "row"))
	count(r.Nets > 0, "nets", "%d", r.Nets)
	count(r.Events > 0, "events", "%d", r.Events)
	count(r.Matches > 0, "matches", "%d: %s", r.Matches, monitor.Count(r.MatchGames, "game"))
	count(r.Cycles > 0, "cycles", "%s", monitor.Count(r.Cycles, "line"))
	count(r.Catalogued > 0, "catalogue", "%s", monitor.Count(r.Catalogued, "net"))
	count(r.LeelaChunks > 0, "Leela chunks", "%d: %s", r.LeelaChunks, monitor.Count(r.Records, "record"))
	count(r.PGNGames > 0, "PGN", "%s", monitor.Count(r.PGNGames, "game"))
	count(r.Unfinished > 0, "unfinished", "%s", monitor.Count(r.Unfinished, "game"))
	count(r.Manifests > 0, "steps", "%d", r.Manifests)
	count(r.Others > 0, "not looked at", "%s (logs, plots and the like)", monitor.Count(r.Others, "file"))
	row("problems", "%d", r.NumProblems)
	for _, note := range r.Notes {
		row("note", "%s", note)
	}
	return w.Flush()
}
