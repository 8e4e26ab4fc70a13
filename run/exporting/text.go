package exporting

import (
	"fmt"
	"io"
	"strings"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// Write prints for a person what was exported.
func (s *Summary) Write(w io.Writer) error {
	for _, n := range s.Nets {
		if _, err := fmt.Fprintf(w, "%s (%s) -> %s\n", n.Name, n.Weights, strings.Join(n.Files, ", ")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s exported\n", monitor.Count(len(s.Nets), "net"))
	return err
}
