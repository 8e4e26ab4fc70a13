package rescore

import (
	"fmt"
	"strings"
)

// Help lists the rescorers with their settings.
func Help() string {
	var sb strings.Builder
	for _, d := range Definitions() {
		fmt.Fprintf(&sb, "  %s: %s\n", d.Name, d.Doc)
		for _, s := range d.Settings {
			fmt.Fprintf(&sb, "      %s: %s", s.Name, s.Doc)
			if s.Default != "" {
				fmt.Fprintf(&sb, " (%s; %s)", s.Default, strings.TrimPrefix(s.Allowed(), "a number from "))
			}
			sb.WriteByte('\n')
		}
	}
	return sb.String()
}
