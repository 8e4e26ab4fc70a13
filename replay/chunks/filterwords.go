package chunks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/record"
)

// EndNames lists the reasons for which a game may end.
func EndNames() (names []string) {
	for e := record.EndUnknown; e < record.EndAborted; e++ {
		names = append(names, e.String())
	}
	return names
}

// Parse adds conditions in the words of a command line: results are white, draw and
// black, ends those of EndNames. Errors name the flag.
func (f *Filter) Parse(results, ends []string, versions, formats []uint) error {
	for _, name := range results {
		i := slices.Index([]string{"black", "draw", "white"}, name)
		if i < 0 {
			return fmt.Errorf("--result %q: want white, draw or black", name)
		}
		f.Results = append(f.Results, int8(i-1))
	}
	for _, name := range ends {
		i := slices.Index(EndNames(), name)
		if i < 0 {
			return fmt.Errorf("--end %q: want one of %s", name, strings.Join(EndNames(), ", "))
		}
		f.Ends = append(f.Ends, record.EndReason(i))
	}
	for _, v := range versions {
		if v > 7 || lc0.RecordSize(uint32(v)) == 0 {
			return fmt.Errorf("--version %d: want 3 to 7", v)
		}
		f.Versions = append(f.Versions, uint32(v))
	}
	for _, v := range formats {
		if v > 255 || !slices.Contains(lc0.InputFormats(), uint32(v)) {
			return fmt.Errorf("--input-format %d: want one of %v", v, lc0.InputFormats())
		}
		f.Formats = append(f.Formats, uint32(v))
	}
	return nil
}

// Text says for a person what was copied, behind how much was read, and which
// conditions the others fail.
func (c *Copied) Text() string {
	where := "would be copied"
	if c.Out != "" {
		where = "copied to " + c.Out
	}
	text := fmt.Sprintf("%d %s\n", c.Copied, where)
	for _, name := range slices.Sorted(maps.Keys(c.Failed)) {
		text += fmt.Sprintf("%d not: %s\n", c.Failed[name], name)
	}
	return text
}
