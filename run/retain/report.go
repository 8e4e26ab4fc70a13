package retain

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Class is a kind of thing that is removed.
type Class string

const (
	ClassShuffle  Class = "shuffle"
	ClassGames    Class = "games"
	ClassRejected Class = "rejected net"
	ClassModel    Class = "accepted net"
	ClassPGN      Class = "match games"
	ClassIndex    Class = "old catalogue"
)

// classes in the order of a report.
var classes = []Class{ClassShuffle, ClassGames, ClassRejected, ClassModel, ClassPGN, ClassIndex}

// Item is something that was removed, or would be.
type Item struct {
	Class  Class  `json:"class"`
	Path   string `json:"path"` // below the run
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
}

// Report is what retention did.
type Report struct {
	Root    string   `json:"root"`
	DryRun  bool     `json:"dry_run"`
	Removed []Item   `json:"removed"`
	Bytes   int64    `json:"bytes"`      // of what was removed
	Kept    int64    `json:"kept_bytes"` // of games and shuffles, afterwards
	Over    int64    `json:"over_bytes"` // by how much that is above max_gib
	Notes   []string `json:"notes,omitempty"`
}

// Write writes each thing and the sums of each class.
func (r *Report) Write(w io.Writer) error {
	for _, i := range r.Removed {
		fmt.Fprintf(w, "%s  %s  (%d bytes): %s\n", i.Class, i.Path, i.Bytes, i.Reason)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "stays: %s\n", note)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, class := range classes {
		number, bytes := 0, int64(0)
		for _, i := range r.Removed {
			if i.Class == class {
				number, bytes = number+1, bytes+i.Bytes
			}
		}
		if number > 0 {
			fmt.Fprintf(t, "%s\t%d\t%.1f MiB\n", class, number, float64(bytes)/(1<<20))
		}
	}
	verb := "removed"
	if r.DryRun {
		verb = "would be removed (this is a dry run)"
	}
	fmt.Fprintf(t, "%s\t%d\t%.1f MiB\n", verb, len(r.Removed), float64(r.Bytes)/(1<<20))
	fmt.Fprintf(t, "games and shuffles left\t\t%.1f MiB\n", float64(r.Kept)/(1<<20))
	if r.Over > 0 {
		fmt.Fprintf(t, "above the limit, and still needed\t\t%.1f MiB\n", float64(r.Over)/(1<<20))
	}
	return t.Flush()
}
