package verify

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// Kind says what sort of a problem it is.
type Kind string

// The kinds of problems.
const (
	Corrupt       Kind = "corrupt"       // bytes are not as they were written
	Torn          Kind = "torn"          // a writer was stopped in the middle
	Duplicate     Kind = "duplicate"     // the same game twice
	Missing       Kind = "missing"       // something that others refer to
	Orphan        Kind = "orphan"        // nobody's any more
	Contradiction Kind = "contradiction" // two parts disagree
	Unreadable    Kind = "unreadable"    // permissions, disk
)

// Problem is one thing that is not as it should be.
type Problem struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"` // byte in the file; -1 = the file as a whole
	Kind   Kind   `json:"kind"`
	Reason string `json:"reason"`
	Remedy string `json:"remedy"` // what to do
}

func (p Problem) String() string {
	at := ""
	if p.Offset >= 0 {
		at = fmt.Sprintf(" at byte %d", p.Offset)
	}
	return fmt.Sprintf("%s%s: %s: %s; %s", p.Path, at, p.Kind, p.Reason, p.Remedy)
}

// Report is what was read, and what is wrong with it.
type Report struct {
	Path string `json:"path"`
	What string `json:"what"` // run, directory, checkpoint, or what sort of file

	Chunks      int   `json:"chunks"` // of games
	Games       int64 `json:"games"`  // different ones, in whole blocks
	Positions   int64 `json:"positions"`
	Rows        int64 `json:"rows"` // positions meant for training
	LeelaChunks int   `json:"leela_chunks"`
	Records     int64 `json:"leela_records"`
	PGNGames    int64 `json:"pgn_games"`
	Unfinished  int   `json:"unfinished_games"`
	Checkpoints int   `json:"checkpoints"`
	Shuffles    int   `json:"shuffles"` // finished ones

	ShuffledRows int64 `json:"shuffled_rows"`
	Nets         int   `json:"nets"` // files, those of checkpoints included
	Events       int64 `json:"events"`
	Entries      int   `json:"journal_entries"`
	Matches      int   `json:"matches"`         // logs of matches
	MatchGames   int64 `json:"match_games"`     // games in them
	Cycles       int   `json:"cycle_entries"`   // lines of the journal of cycles
	Catalogued   int   `json:"catalogue_nets"`  // nets of the catalogue
	Manifests    int   `json:"manifests"`       // of pipeline steps
	Others       int   `json:"files_not_known"` // files of which nothing is known, such as logs

	NumProblems int       `json:"num_problems"`
	Problems    []Problem `json:"problems"` // the first 1000
	Notes       []string  `json:"notes"`    // what is no problem, but should be known
}

// OK says that nothing is wrong.
func (r *Report) OK() bool { return r.NumProblems == 0 }

// maxProblems bounds Report.Problems.
const maxProblems = 1000

func (r *Report) add(p Problem) {
	r.NumProblems++
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, p)
	}
}

// problem adds a problem of a file as a whole.
func (r *Report) problem(path string, kind Kind, remedy, format string, args ...any) {
	r.add(Problem{Path: path, Offset: -1, Kind: kind, Reason: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

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
