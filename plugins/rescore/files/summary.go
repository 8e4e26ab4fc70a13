package files

import (
	"fmt"
	"io"
	"strings"
)

// Summary is a report of several files.
type Summary struct {
	Rescorer string `json:"rescorer"`
	*Report
	Damage []string  `json:"damage,omitempty"`
	Plan   []Planned `json:"plan,omitempty"` // of a dry run
}

// Planned is one file of a plan.
type Planned struct {
	In   string `json:"in"`
	Out  string `json:"out"`
	Kind Kind   `json:"kind"`
}

// Write prints the summary for a person.
func (r *Summary) Write(w io.Writer) error {
	var sb strings.Builder
	fmt.Fprintf(&sb, "rescorer   %s\n", r.Rescorer)
	if r.Plan != nil {
		for _, j := range r.Plan {
			fmt.Fprintf(&sb, "%-12s %s -> %s\n", j.Kind, j.In, j.Out)
		}
		_, err := io.WriteString(w, sb.String())
		return err
	}
	fmt.Fprintf(&sb, "files      %d written, %d kept\n", r.Files, r.Kept)
	fmt.Fprintf(&sb, "games      %d, %d changed\n", r.Games, r.GamesChanged)
	fmt.Fprintf(&sb, "positions  %d; changed: %d results, %d plies left, %d policies, %d weights\n",
		r.Positions, r.Results, r.PliesLeft, r.Policies, r.Weights)
	for _, d := range r.Damage {
		fmt.Fprintf(&sb, "damaged    %s\n", d)
	}
	_, err := io.WriteString(w, sb.String())
	return err
}
